/** Reports each test in a line: its name, and how long it took or why it failed. */
export default async function* report(events) {
  for await (const { type, data } of events) {
    if (data?.details?.type === "suite" || !["test:pass", "test:fail"].includes(type) || data.name.endsWith(".test.js")) {
      continue;
    }
    const { duration_ms, error } = data.details;
    const said = type === "test:pass" ? `${Math.round(duration_ms)} ms` : String(error?.cause?.stack ?? error?.message ?? "failed");
    yield `${data.name}: ${said.replace(/\s*\n\s*/g, " | ")}\n`;
  }
}
