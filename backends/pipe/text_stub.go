package pipe

import "path/filepath"

// textVariable carries a text that must not be in argv (shelltext.FindsProcesses). The shell
// removes it from the environment before it runs the text.
const textVariable = "TROUPE_TEXT"

// textStub returns what a shell runs in place of such a text, or "" if it must be in argv.
// $0, $- and exit statuses stay as they are; bash names eval in a syntax error, other shells
// in each error (docs/decisions/057).
func textStub(words []string) string {
	switch {
	case words[len(words)-1] != textFlag:
		return ""
	case isPOSIX(words):
		return `troupe_text=$` + textVariable + `; unset ` + textVariable + `; eval "$troupe_text"`
	case filepath.Base(words[0]) == "fish":
		return `set -l troupe_text $` + textVariable + `; set -e ` + textVariable + `; eval $troupe_text`
	}
	return ""
}
