package config

// CopilotSettings are those of the dialect copilot; what is absent is the family's default.
type CopilotSettings struct {
	Process       bool     `toml:"process"` // each command is a process of its own, and none has a terminal
	InitialWait   Duration `toml:"initial_wait"`
	Quiet         bool     `toml:"quiet"`          // no notices of ends
	Profile       bool     `toml:"bash_env"`       // shells read BASH_ENV
	DetachedLogs  string   `toml:"detached_logs"`  // directory
	DetachedNames string   `toml:"detached_names"` // how they begin
}

// OpenCodeSettings are those of the dialect opencode; what is absent is the family's
// default.
type OpenCodeSettings struct {
	HeadLines  configCount `toml:"head_lines"`
	TailLines  configCount `toml:"tail_lines"`
	Banned     []string    `toml:"banned"`
	TempDir    string      `toml:"temp_dir"`
	Background bool        `toml:"background"`
	DataDir    string      `toml:"data_dir"`
	Shell      string      `toml:"shell"`
}

// OMPSettings are those of the dialect omp; what is absent is the family's default, but
// that background jobs are on: without them there is no tool job.
type OMPSettings struct {
	Async               *bool       `toml:"async"`
	AutoBackground      bool        `toml:"auto_background"`
	AutoBackgroundAfter Duration    `toml:"auto_background_after"`
	PollWait            Duration    `toml:"poll_wait"`
	Jobs                configCount `toml:"jobs"` // that may run in the background
	HeadTail            *bool       `toml:"strip_trailing_head_tail"`
	MaxTimeout          Duration    `toml:"max_timeout"`
	NoTimeout           bool        `toml:"zero_timeout_disables"`
	Shell               string      `toml:"shell"`
	OneShot             bool        `toml:"one_shot"`
	Intercept           bool        `toml:"intercept"`
	SearchTool          string      `toml:"search_tool"`
	Rules               []Rule      `toml:"rules"`
	Minimize            *bool       `toml:"minimize"`
	MinimizeOnly        []string    `toml:"minimize_only"`
	MinimizeExcept      []string    `toml:"minimize_except"`
	MinimizeFilters     string      `toml:"minimize_filters"` // a file
	Skills              []string    `toml:"skills"`           // directories, as the next
	Agents              []string    `toml:"agents"`
	Plans               []string    `toml:"plans"`
	Memories            []string    `toml:"memories"`
	RulesOf             []string    `toml:"rule_files"`
}

// Rule is a shelltext.Rule.
type Rule struct {
	Pattern string `toml:"pattern"`
	Flags   string `toml:"flags"`
	Tool    string `toml:"tool"`
	Message string `toml:"message"`
}
