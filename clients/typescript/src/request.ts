import type { paths } from "./api.js";
import type { Exchange } from "./transport.js";
import type { Abortable } from "./types.js";

/** The methods of the API. */
export type Method = "get" | "post" | "delete";

/** The paths that know a method and answer with an object. */
export type PathOf<M extends Method> = { [P in keyof paths]: ReplyOf<P, M> extends never ? never : P }[keyof paths];

/** The object with which a request is answered. */
export type ReplyOf<P extends keyof paths, M extends Method> = paths[P][M] extends { responses: { 200: { content: { "application/json": infer R } } } } ? R : never;

type Part<O, Name extends string> = O extends { parameters: { [_ in Name]?: infer Q } } ? NonNullable<Q> : never;
type Body<O> = O extends { requestBody: { content: { "application/json": infer B } } } ? B : never;
type Given<Name extends string, T> = [T] extends [never] ? unknown : { [_ in Name]?: { [K in keyof T]: T[K] | undefined } };

/** The parameters and the body of a request. */
export type RequestOptions<P extends keyof paths, M extends Method> = Abortable &
  Given<"query", Part<paths[P][M], "query">> &
  ([Part<paths[P][M], "path">] extends [never] ? unknown : { path: Part<paths[P][M], "path"> }) &
  ([Body<paths[P][M]>] extends [never] ? unknown : { body: Body<paths[P][M]> });

/** Makes the exchange of a request. One that reads can be repeated. */
export function exchangeOf(method: Method, template: string, options: object): Exchange {
  const { path = {}, query = {}, body } = options as { path?: Record<string, string>; query?: Exchange["query"]; body?: object };
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  return { method: method.toUpperCase(), path: filled, query, ...(method === "post" && { body: body ?? {} }), repeats: method === "get" };
}
