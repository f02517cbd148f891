// Serves the npm packages of a directory on loopback, as a registry does: what npm asks for is
// the list of a package's versions, and the file of one. It prints its address.
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const dir = process.argv[2];
const packages = new Map();
for (const file of readdirSync(dir).filter((name) => name.endsWith(".tgz"))) {
  const bytes = readFileSync(join(dir, file));
  const about = JSON.parse(execFileSync("tar", ["-xzOf", join(dir, file), "package/package.json"]));
  packages.set(about.name, { about, bytes, file });
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://registry").pathname).slice(1);
  const found = packages.get(path) ?? [...packages.values()].find((p) => p.file === path);
  if (found === undefined) {
    response.writeHead(404).end("{}");
    return;
  }
  if (path === found.file) {
    response.end(found.bytes);
    return;
  }
  const { name, version } = found.about;
  const integrity = "sha512-" + createHash("sha512").update(found.bytes).digest("base64");
  const tarball = `http://${request.headers.host}/${found.file}`;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions: { [version]: { ...found.about, dist: { tarball, integrity } } } }));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
