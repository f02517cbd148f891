// Package config reads the settings of the daemon and its clients: defaults, then the file,
// then the environment. Its errors name the line and what is allowed there. It knows
// the directories and file names of troupe.
//
//	codelia.go                the settings of the dialect codelia
//	config.go                 the settings, and reading them
//	copilot_opencode_omp.go   the settings of MCP dialects
//	decode_error.go           errors of the file, with what is allowed there
//	line.go                   finds the line of a setting
//	path.go                   directories and names of files
//	type.go                   finds the type of a setting by reflection
package config
