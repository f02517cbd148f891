/**
 * Runs the shell commands of opencode as troupe jobs: this tool takes the place of its own bash.
 * A command that runs in the background, or for long, does not hold the agent. The end of its
 * job wakes the session that started it, with a message that starts a turn.
 */
import path from "node:path";
import { type Plugin, tool } from "@opencode-ai/plugin";
import { Daemon, type Job, Jobs, endOf } from "./jobs.ts";

const promoteAfter = Number(process.env.TROUPE_PROMOTE_AFTER ?? 60); // seconds
const keptBytes = 1 << 20; // of the end of an output that the model may get
const shownBytes = 30_000; // of it that the user sees while it grows

export const Troupe: Plugin = async ({ client }) => {
  const jobs = new Jobs<string>(new Daemon(), `opencode/${process.pid}-${Date.now().toString(36)}`, (job: Job, sessionID: string) => {
    const text = `The background job ${job.id} has ended: ${endOf(job)}. Command: ${job.command.slice(0, 200)}. troupe logs ${job.id} shows its output.`;
    client.session.promptAsync({ path: { id: sessionID }, body: { parts: [{ type: "text", text, synthetic: true }] } }).catch(() => {}); // the session is gone
  });
  return {
    tool: {
      bash: tool({
        description: `Run a shell command with bash and return its output and exit status. A command that runs longer than ${promoteAfter} seconds continues in the background; a message follows when it ends. troupe ps lists the jobs, troupe logs JOB shows an output, troupe stop JOB stops one.`,
        args: {
          command: tool.schema.string().describe("The command to run"),
          description: tool.schema.string().optional().describe("What the command does, in a few words"),
          workdir: tool.schema.string().optional().describe("The directory to run it in; the project's if left out"),
          timeout: tool.schema.number().positive().optional().describe("Stop the command after so many milliseconds"),
          background: tool.schema.boolean().optional().describe("Return at once; a message follows when the command has ended"),
        },
        async execute(args, context) {
          const title = args.description ?? args.command;
          await context.ask({ permission: "bash", patterns: [args.command], always: [args.command], metadata: {} });
          let output = Buffer.alloc(0);
          let omitted = 0;
          const onData = (data: Buffer) => {
            output = Buffer.concat([output, data]);
            omitted += Math.max(0, output.length - keptBytes);
            output = output.subarray(-keptBytes);
            context.metadata({ title, metadata: { output: text(output, shownBytes), description: args.description } });
          };
          const job = await jobs.run({
            command: args.command,
            cwd: path.resolve(context.directory, args.workdir ?? "."),
            timeout: args.timeout === undefined ? undefined : args.timeout / 1000,
            background: args.background,
            promoteAfter,
            signal: context.abort,
            onData,
            owner: context.sessionID,
          });
          const how = job.state === "finished" ? endOf(job) : "runs in the background; a message follows when it ends";
          const notes = [omitted > 0 && `${omitted} bytes before are in troupe logs ${job.id}`, `${job.id} ${how}`].filter(Boolean);
          return {
            title,
            output: `${text(output, keptBytes)}\n${notes.map((note) => `[${note}]`).join("\n")}`,
            metadata: { output: text(output, shownBytes), exit: job.exit_code, description: args.description },
          };
        },
      }),
    },
    dispose: async () => jobs.close(),
  };
};

/** Returns the end of an output as text. */
function text(output: Buffer, most: number): string {
  return output.subarray(-most).toString("utf8");
}
