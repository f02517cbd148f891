package shelltext

// Texts for people and models, each sentence once.
const (
	textTooLarge     = "the command is too long to be parsed"
	textTooDeep      = "the command is nested too deeply to be parsed"
	textTooSlow      = "the command took too long to be parsed"
	textSyntax       = "the command is not valid bash: %s"
	textSyntaxAt     = "the command is not valid bash at %d:%d: %s"
	textParserFailed = "the parser failed on it"

	textBlocked = "Blocked: %s\n\n%s"

	// Messages of the default rules: the tool, what it replaces, and why.
	textUseRead   = "Use the `read` tool instead of cat, head, tail, less or more: it pages and numbers the lines."
	textUseSearch = "Use the `%s` tool instead of grep, rg, ripgrep, ag or ack: it skips ignored files and bounds what it returns."
	textUseFind   = "Use the `find` tool instead of find, fd or locate with a pattern: it skips ignored files and is faster."
	textUseEdit   = "Use the `edit` tool instead of sed -i: it checks what it replaces and shows the difference."
	textUsePerl   = "Use the `edit` tool instead of perl -i: it checks what it replaces and shows the difference."
	textUseAwk    = "Use the `edit` tool instead of awk -i inplace: it checks what it replaces and shows the difference."
	textUseWrite  = "Use the `write` tool instead of echo, printf or cat << with a redirection: nothing in the text has to be quoted."
	textUseAsync  = "Use `async: true` of the `bash` tool instead of nohup: the job is then known, and its end is told."
	textUseNoAmp  = "Use `async: true` of the `bash` tool instead of a trailing &: the job is then known, and its end is told."

	// Texts of CheckKills. Those about a PID or an expansion begin with it.
	textGateProgram   = "%s is not executed: it ends processes by name, whoever they belong to. Use kill <PID> instead."
	textGateUsage     = "kill needs at least one numeric PID. Usage: kill [-<signal>] <PID>..."
	textGateSelf      = "kill %d is not executed: it would end this tool's own process."
	textGateAncestor  = "kill %d is not executed: it would end an ancestor of this tool's own process."
	textGateExpansion = "%s is not executed: this kind of expansion can run commands that nobody sees. Write the command out."
)
