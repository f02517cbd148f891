package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Settings of a dialect that cannot be are said before anything is served, by their
// names and with what to do; and no daemon is started for them.
func TestBadInputOfADialect(t *testing.T) {
	t.Parallel()
	p := program(t, "mcp")
	filters, plain, missing := p.file("filters.toml"), p.file("plain"), p.file("missing")
	require.NoError(t, os.WriteFile(filters, []byte("[filters.x]\nnonsense = 1\n"), 0o600))
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	everybodys := p.file("everybodys.toml")
	require.NoError(t, os.WriteFile(everybodys, nil, 0o600))
	require.NoError(t, os.Chmod(everybodys, 0o602))
	rule := func(text string) string { return "rules = [{" + text + "}]" }
	for dialect, settings := range map[string][][2]string{
		"omp": {
			{"minimize_filters = '" + filters + "'", filters},
			{"minimize_filters = '" + missing + "'", "omp.minimize_filters"},
			{"minimize_filters = '" + everybodys + "'", "chmod o-w"},
			{"minimize_filters = 'f.toml'", `omp.minimize_filters "f.toml" is relative; give an absolute path`},
			{"minimize_filters = 5", "omp.minimize_filters must be a string in quotes"},
			{"poll_wait = '7s'", "line 2: omp.poll_wait is 7s; it must be one of 5s, 10s, 30s, 1m, 5m"},
			{"poll_wait = '-5s'", `line 2: omp.poll_wait: invalid duration "-5s": use a number with a unit, such as "90s"`},
			{"poll_wait = 5", `omp.poll_wait: invalid duration "5"`},
			{"poll_wait = true", `omp.poll_wait: invalid duration "true"`},
			{"jobs = 101", "omp.jobs is 101; it must be at most 100"},
			{"jobs = -1", "omp.jobs must be a whole number"},
			{"max_timeout = '2h'", "omp.max_timeout is 2h0m0s; it must be from 1s to 1h"},
			{"max_timeout = '20ms'", "omp.max_timeout is 20ms"},
			{"shell = '/bin/no-shell'", `omp.shell is invalid: shell "/bin/no-shell": not found`},
			{"shell = 'bash'", "not an absolute path"},
			{"shell = '" + plain + "'", "not found or not executable; change omp.shell"},
			{rule("tool = 'read', message = 'x'"), "omp.rules, rule 1, has no pattern"},
			{rule("pattern = 'x', message = 'x'"), "rule 1, has no tool"},
			{rule("pattern = 'x', tool = 'x'"), "rule 1, has no message"},
			{rule("pattern = '(', tool = 'x', message = 'x'"), `has the invalid pattern "(" with the flags ""`},
			{rule("pattern = '(?!x)', tool = 'x', message = 'x'"), "RE2 syntax"},
			{"[[omp.rules]]\npattern = 'x'\ntool = 'x'\nmessage = 'x'\n[[omp.rules]]\npattern = 'x'\ntool = 'x'", "line 6: omp.rules, rule 2, has no message"},
			{rule("pattern = 'x', flags = 'q', tool = 'x', message = 'x'"), `the flags "q"`},
			{"[[omp.rules]]\npattern = 'x'\ncolour = 'x'", "line 4: unknown setting omp.rules.colour"},
			{rule("pattern = 1"), "omp.rules.pattern must be a string in quotes"},
			{"rules = 3", "omp.rules must be a list of tables"},
			{"rules = ['x']", "omp.rules must be a list of tables"},
			{"[[omp.rules]]\npattern = 1", "line 3: omp.rules.pattern must be a string in quotes"},
			{"skills = ['skills']", `omp.skills "skills" is relative; give an absolute path`},
			{"agents = ['~/agents']", "omp.agents"},
			{"plans = ['" + plain + "']", "omp.plans " + plain + " is not a directory"},
			{"memories = ['']", "omp.memories has an empty path"},
			{"rule_files = 'x'", "omp.rule_files must be a list of strings"},
			{"rule_files = [3]", "omp.rule_files must be a list of strings"},
			{"async = 'yes'", "omp.async must be true or false"},
			{"minimize = 1", "omp.minimize must be true or false"},
			{"colour = 1", "unknown setting omp.colour"},
			{"[mcp]\nenv = ['A=B']", `mcp.env has "A=B"; use names of variables, without values`},
		},
		"opencode": {
			{"shell = '/bin/no-shell'", `opencode.shell is invalid: shell "/bin/no-shell"`},
			{"temp_dir = 'tmp'", `opencode.temp_dir "tmp" is relative; give an absolute path`},
			{"temp_dir = '" + plain + "'", "opencode.temp_dir " + plain + " is not a directory"},
			{"data_dir = 'data'", `opencode.data_dir "data" is relative`},
			{"head_lines = -1", "opencode.head_lines must be a whole number"},
			{"tail_lines = 'x'", "opencode.tail_lines must be a whole number"},
			{"banned = ['curl x']", `opencode.banned has "curl x"; use first words`},
			{"banned = ['']", "opencode.banned"},
			{"banned = 'curl'", "opencode.banned must be a list of strings"},
			{"background = 'on'", "opencode.background must be true or false"},
			{"dir = 'x'", "unknown setting opencode.dir"},
		},
		"copilot": {
			{"initial_wait = '11m'", "copilot.initial_wait is 11m0s; it must be at most 10m0s"},
			{"initial_wait = 10", `copilot.initial_wait: invalid duration "10"`},
			{"detached_logs = 'logs'", `copilot.detached_logs "logs" is relative`},
			{"detached_logs = '" + plain + "'", "is not a directory"},
			{"detached_names = 'a/b'", `copilot.detached_names is "a/b"; it must be the beginning of a file name`},
			{"detached_names = '.x'", "copilot.detached_names"},
			{"process = 'x'", "copilot.process must be true or false"},
			{"quiet = 1", "copilot.quiet must be true or false"},
			{"bash_env = []", "copilot.bash_env must be true or false"},
			{"wait = '1s'", "unknown setting copilot.wait"},
		},
		"codelia": {
			{"root = 'here'", `codelia.root "here" is relative; give an absolute path`},
			{"root = '" + missing + "'", "codelia.root " + missing + " is not a directory"},
			{"root = '" + plain + "'", "codelia.root " + plain + " is not a directory"},
			{"root = '/usr/bin'", "codelia.root /usr/bin does not contain"},
			{"root = 7", "codelia.root must be a string in quotes"},
			{"deny = ['rm -rf']", `codelia.deny has "rm -rf"; use names of programs`},
			{"deny = ['']", "codelia.deny"},
			{"deny = 'mkfs'", "codelia.deny must be a list of strings"},
			{"wrap = ['no-such-program']", `codelia.wrap begins with "no-such-program", which is not found or not executable`},
			{"wrap = ['']", "codelia.wrap begins with"},
			{"wrap = ['" + plain + "']", "not executable"},
			{"env = ['A=B']", `codelia.env has "A=B"; use names of variables, without values`},
			{"confirm = 'no'", "codelia.confirm must be true or false"},
			{"sandbox = 'bwrap'", "unknown setting codelia.sandbox"},
		},
	} {
		verbs := []string{"mcp"}
		if dialect == "codelia" {
			verbs = append(verbs, "rpc")
		}
		for i, c := range slices.Concat(settings, settings)[:len(verbs)*len(settings)] {
			file := p.file(fmt.Sprintf("%s-%d.toml", dialect, i))
			require.NoError(t, os.WriteFile(file, []byte("["+dialect+"]\n"+c[0]+"\n"), 0o600))
			q := program(t, verbs[i/len(settings)], "--dialect", dialect)
			q.Env = append(q.Env, "TROUPE_CONFIG="+file)
			q.start()
			q.ends(2)
			said := q.err.String()
			require.Contains(t, said, c[1], c[0])
			require.NotContains(t, said, "main.", c[0])
			if !strings.Contains(c[0], "minimize_filters = '/") { // that is of the file it names
				require.Contains(t, said, "toml, line ", c[0])
			}
			left, err := filepath.Glob(q.file("troupe*"))
			require.NoError(t, err)
			require.Empty(t, left, "nothing was started for %s", c[0])
		}
	}
	p = program(t, "mcp", "--dialect", "esperanto")
	p.start()
	p.ends(2)
	require.Contains(t, p.err.String(), "invalid dialect esperanto: use one of core, omp, opencode, copilot, codelia")
}
