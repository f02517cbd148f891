// A stand-in for a model, for Anthropic's and OpenAI's APIs. It calls a tool when it reads "begin the
// work", and says WOKEN when it reads that a job has ended. Arguments: port, log, tool, input.
import fs from "node:fs";
import http from "node:http";

const [port, log, tool, input] = process.argv.slice(2);

function next(messages) {
  const fresh = JSON.stringify(messages.slice(messages.map((m) => m.role).lastIndexOf("assistant") + 1));
  if (/has ended|finished \(exited/.test(fresh)) {
    fs.appendFileSync(log, "WOKEN\n");
    return { text: "WOKEN" };
  }
  if (/tool_result|"role":"tool"/.test(fresh)) {
    return { text: "STARTED" };
  }
  return /begin the work/.test(fresh) ? { call: true } : { text: "nothing to do" };
}

function anthropic(send, { text }) {
  const event = (type, fields) => send(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } };
  event("message_start", { message });
  const block = text ? { type: "text", text: "" } : { type: "tool_use", id: "toolu_1", name: tool, input: {} };
  event("content_block_start", { index: 0, content_block: block });
  event("content_block_delta", { index: 0, delta: text ? { type: "text_delta", text } : { type: "input_json_delta", partial_json: input } });
  event("content_block_stop", { index: 0 });
  event("message_delta", { delta: { stop_reason: text ? "end_turn" : "tool_use" }, usage: { output_tokens: 1 } });
  event("message_stop", {});
}

function openai(send, { text }) {
  const chunk = (delta, finish_reason = null) =>
    send(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
  chunk({ role: "assistant", ...(text ? { content: text } : { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: tool, arguments: input } }] }) });
  chunk({}, text ? "stop" : "tool_calls");
  send("data: [DONE]\n\n");
}

http
  .createServer(async (request, reply) => {
    let body = "";
    for await (const part of request) {
      body += part;
    }
    const asked = JSON.parse(body || "{}");
    const answer = asked.tools?.length ? next(asked.messages ?? []) : { text: "a title" };
    reply.writeHead(200, { "content-type": "text/event-stream" });
    (request.url.includes("/messages") ? anthropic : openai)((text) => reply.write(text), answer);
    reply.end();
  })
  .listen(Number(port), "127.0.0.1");
