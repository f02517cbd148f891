package config

// CopilotSettings configures the dialect copilot. Absent settings have the family's default.
type CopilotSettings struct {
	Shell         string   `toml:"shell"`   // the suite of tools: bash or powershell
	Process       bool     `toml:"process"` // run each command in its own process, without a terminal
	InitialWait   Duration `toml:"initial_wait"`
	Quiet         bool     `toml:"quiet"`          // send no notices of ended jobs
	Profile       bool     `toml:"bash_env"`       // shells read BASH_ENV
	DetachedLogs  string   `toml:"detached_logs"`  // directory of the logs of detached commands
	DetachedNames string   `toml:"detached_names"` // prefix of the names of those logs
}

// OpenCodeSettings configures the dialect opencode. Absent settings have the family's
// default.
type OpenCodeSettings struct {
	HeadLines  configCount `toml:"head_lines"`
	TailLines  configCount `toml:"tail_lines"`
	Banned     []string    `toml:"banned"`
	TempDir    string      `toml:"temp_dir"`
	Background bool        `toml:"background"`
	DataDir    string      `toml:"data_dir"`
	Shell      string      `toml:"shell"`
	Files      *bool       `toml:"files"`         // save long outputs in files (true)
	Plain      bool        `toml:"plain_numbers"` // write 8432 instead of 8,432
	Gap        bool        `toml:"gap_marker"`    // also in a preview with a file
}

// OMPSettings configures the dialect omp. Absent settings have the family's default, except
// that background jobs are on, which the tool job needs, and that timeout: 0 is no deadline.
type OMPSettings struct {
	Async               *bool       `toml:"async"`
	AutoBackground      bool        `toml:"auto_background"`
	AutoBackgroundAfter Duration    `toml:"auto_background_after"`
	PollWait            Duration    `toml:"poll_wait"`
	Jobs                configCount `toml:"jobs"` // limit of background jobs
	HeadTail            *bool       `toml:"strip_trailing_head_tail"`
	MaxTimeout          Duration    `toml:"max_timeout"`
	NoTimeout           *bool       `toml:"zero_timeout_disables"`
	Shell               string      `toml:"shell"`
	OneShot             bool        `toml:"one_shot"`
	VirtualTerminal     string      `toml:"virtual_terminal"` // of a console: on or off
	Intercept           bool        `toml:"intercept"`
	SearchTool          string      `toml:"search_tool"`
	Rules               []Rule      `toml:"rules"`
	Minimize            *bool       `toml:"minimize"`
	MinimizeOnly        []string    `toml:"minimize_only"`
	MinimizeExcept      []string    `toml:"minimize_except"`
	MinimizeFilters     string      `toml:"minimize_filters"` // path of a file
	Skills              []string    `toml:"skills"`           // directories, like the four fields below
	Agents              []string    `toml:"agents"`
	Plans               []string    `toml:"plans"`
	Memories            []string    `toml:"memories"`
	RulesOf             []string    `toml:"rule_files"`
}

// Rule is a shelltext.Rule of the configuration file.
type Rule struct {
	Pattern string `toml:"pattern"`
	Flags   string `toml:"flags"`
	Tool    string `toml:"tool"`
	Message string `toml:"message"`
}
