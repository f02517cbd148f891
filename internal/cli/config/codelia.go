package config

// CodeliaSettings configures the dialect codelia, over RPC and over MCP. Absent settings have
// the family's default.
type CodeliaSettings struct {
	Root    string   `toml:"root"`    // directory that commands must start in or below
	Deny    []string `toml:"deny"`    // names of programs that commands may not name
	Wrap    []string `toml:"wrap"`    // argv of a program that confines commands
	Env     []string `toml:"env"`     // variables that tasks get although they look like secrets
	Confirm *bool    `toml:"confirm"` // ask the user of an RPC client about the tasks of an agent
}
