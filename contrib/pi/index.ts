/**
 * Runs the shell commands of pi as troupe jobs: the tool bash, and what the user types after "!".
 * A command that runs in the background, or for long, does not hold the agent. The end of its
 * job wakes the agent, with a message that starts a turn.
 */
import { type ExtensionAPI, createBashToolDefinition } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { type JobRecord, Jobs, endOf } from "./jobs.ts";
import { operations } from "./operations.ts";

const promoteAfter = Number(process.env.TROUPE_PROMOTE_AFTER ?? 60); // seconds

export default function troupe(pi: ExtensionAPI) {
  const cwd = process.cwd();
  const jobs = new Jobs(`pi/${process.pid}-${Date.now().toString(36)}`, (job: JobRecord) => {
    const content = `The background job ${job.id} has ended: ${endOf(job)}. Command: ${job.command.slice(0, 200)}. troupe logs ${job.id} shows its output.`;
    pi.sendMessage({ customType: "troupe", content, display: true, details: job }, { triggerTurn: true, deliverAs: "followUp" });
  });

  const bash = createBashToolDefinition(cwd);
  pi.registerTool({
    ...bash,
    description: `${bash.description} A command that runs longer than ${promoteAfter} seconds continues in the background; a message follows when it ends.`,
    parameters: Type.Object({
      command: Type.String({ description: "Shell command to execute" }),
      timeout: Type.Optional(Type.Number({ description: "Timeout in seconds (optional, no default timeout)" })),
      background: Type.Optional(Type.Boolean({ description: "Return at once; a message follows when the command has ended" })),
    }),
    async execute(id, { background, ...params }, signal, onUpdate, ctx) {
      return createBashToolDefinition(cwd, { operations: operations(jobs, { background, promoteAfter }) }).execute(id, params, signal, onUpdate, ctx);
    },
  });

  pi.on("user_bash", () => ({ operations: operations(jobs) }));

  // The lease ends with the session, and its jobs stop.
  pi.on("session_shutdown", () => jobs.close());
}
