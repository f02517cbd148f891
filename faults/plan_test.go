package faults

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// Each plan that comes with the program can be used, and says in a line what it does.
func TestReadyPlans(t *testing.T) {
	require.GreaterOrEqual(t, len(Ready()), 8)
	for _, name := range Ready() {
		text, err := ReadyText(name)
		require.NoError(t, err)
		p, err := Parse(name, text)
		require.NoError(t, err)
		require.NotEmpty(t, p.About, name)
	}
	_, err := ReadyText("../plan")
	require.ErrorIs(t, err, &messages.Error{Code: messages.NotFound})
}

// A plan is the same as TOML and as JSON.
func TestPlanAsJSON(t *testing.T) {
	asTOML, err := Parse("p", []byte("seed = 7\n[[rule]]\nwhere = \"exit\"\nnth = 2\ndo = \"wrong-exit\"\ncode = 3\n[[rule]]\nwhere=\"start\"\ndo=\"delay\"\nfor=\"2s\"\n"))
	require.NoError(t, err)
	asJSON, err := Parse("p", []byte(`{"seed":7,"rule":[{"where":"exit","nth":2,"do":"wrong-exit","code":3},{"where":"start","do":"delay","for":"2s"}]}`))
	require.NoError(t, err)
	require.Equal(t, asTOML, asJSON)
}

// What is wrong with a plan is said with its line, and nothing of it is used.
func TestBadInputPlans(t *testing.T) {
	rule := func(text string) string { return "[[rule]]\nwhere = \"start\"\ndo = \"hang\"\n\n[[rule]]\n" + text }
	for text, says := range map[string]string{
		"":                                       "the plan p: it has no rule",
		"seed = -1":                              "line 1",
		rule("wehre = \"exit\""):                 "line 6: unknown key wehre",
		rule("where = \"exits\""):                `line 6: rule 2: where is "exits"; it is one of start, output, read, input, exit, notice, journal, shell, reply`,
		rule("where = \"exit\"\ndo = \"drop\""):  `line 7: rule 2: do is "drop"; what can happen at exit is delay, lost-exit, wrong-exit, kill, freeze`,
		rule("where = \"exit\"\ndo = \"delay\""): "line 7: rule 2: delay needs for",
		rule("where = \"exit\"\ndo = \"delay\"\nfor = \"soon\""):                      "line 8",
		rule("where = \"exit\"\ndo = \"lost-exit\"\nbytes = 3"):                       "line 8: rule 2: lost-exit takes no bytes",
		rule("where = \"exit\"\ndo = \"wrong-exit\""):                                 "line 7: rule 2: wrong-exit needs code or signal",
		rule("where = \"exit\"\ndo = \"wrong-exit\"\ncode = 256"):                     "line 8: rule 2: code is 256",
		rule("where = \"start\"\ndo = \"hang\"\nnth = 1\nevery = 2"):                  "line 8: rule 2: give one of nth, every and probability",
		rule("where = \"start\"\ndo = \"hang\"\nprobability = 1.5"):                   "line 8: rule 2: probability is 1.5",
		rule("where = \"start\"\ndo = \"hang\"\nprobability = nan"):                   "line 8: rule 2: probability is NaN",
		rule("where = \"start\"\ndo = \"hang\"\ncommand = \"(\""):                     "line 8: rule 2: command: ",
		rule("where = \"start\"\ndo = \"hang\"\nmatch = \"x\""):                       `line 8: rule 2: match needs where = "output"`,
		rule("where = \"start\"\ndo = \"hang\"\njob = \"[\""):                         "line 8: rule 2: job is no pattern",
		rule("where = \"start\"\ndo = \"hang\"\nscope = \"/\""):                       "line 8: rule 2: ",
		rule("where = \"start\"\ndo = \"errno\"\nerrno = \"5\""):                      "line 8: rule 2: errno is",
		rule("where = \"start\"\ndo = \"kill\"\ntarget = \"host\""):                   "line 8: rule 2: target is",
		rule("where = \"start\"\ndo = \"freeze\"\nfor = \"1s\"\ntarget = \"daemon\""): "line 9: rule 2: a frozen daemon could not go on by itself",
		rule("name = \"rule 1\"\nwhere = \"start\"\ndo = \"kill\""):                   `line 6: rule 2: two rules have the name "rule 1"`,
		"{\"rule\":[\n{\"where\":\"start\",\"do\":\"hang\",\"nht\":1}]}":              "line 2",
		"{\"rule\":[\n{\"where\":\"start\",\n\"do\":\"hang\",\"nth\":\"1\"}]}":        "line 3",
		"{\"rule\":[{\"where\":\"start\",\"where\":\"exit\",\"do\":\"hang\"}]}":       "duplicate",
	} {
		_, err := Parse("p", []byte(text))
		require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams, Reason: "plan"}, text)
		require.Contains(t, err.Error(), says)
	}
}
