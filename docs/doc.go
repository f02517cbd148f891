// Package docs holds the pages that the program itself shows: troupe help prints sections of
// them, and so do the man pages.
package docs

import _ "embed" // the pages

// CLI is the page of the command line.
//
//go:embed cli.md
var CLI string

// Commands is the page of what surrounds a command.
//
//go:embed commands.md
var Commands string
