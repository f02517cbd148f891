package shelltext

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// realCommands are sixty commands as models write them: fifteen that a tool of the
// host does better, and forty-five that only the shell does.
var realCommands = map[string]string{
	// Blocked.
	"cat src/main.go":                                                         "read",
	"head -n 100 internal/server/server.go":                                   "read",
	"cd services/api && tail -n 40 logs/app.log":                              "read",
	"cat package.json | jq .scripts":                                          "read",
	`"c"at /etc/os-release`:                                                   "read",
	"grep -rn 'TODO' --include='*.ts' src":                                    "search",
	"rg -l 'func Parse' .":                                                    "search",
	"LC_ALL=C grep -c error build.log":                                        "search",
	"if grep -q '^feature' config.ini; then make feature; fi":                 "search",
	"find . -type f -name '*.py' | wc -l":                                     "find",
	"fd --type f -e md docs":                                                  "find",
	"sed -i 's/foo/bar/g' README.md":                                          "edit",
	"perl -pi -e 's/\\r$//' script.sh":                                        "edit",
	"echo 'export default {}' > vite.config.js":                               "write",
	"cat > Dockerfile <<'EOF'\nFROM alpine\nRUN apk add git > /dev/null\nEOF": "write",

	// Not blocked.
	"ls -la":                             "-",
	"git status --short":                 "-",
	"git log --oneline -20 | cat":        "-",
	"git diff HEAD~1 -- src | head -200": "-",
	"git grep -n 'TODO'":                 "-",
	"git add -A && git commit -m 'echo a > b is not a write'":               "-",
	"git commit -m \"$(cat <<'EOF'\nFix the parser\n\nA > B now.\nEOF\n)\"": "-",
	"git commit -am 'cat and grep are blocked'":                             "-",
	"git log --grep='find . -name'":                                         "-",
	"go build ./... 2>&1 | tail -20":                                        "-",
	"go test ./shell -run 'R03' -v 2>&1 | grep -E '^(---|FAIL)'":            "-",
	"npm install && npm run build":                                          "-",
	"npm test -- --grep 'parses a > b'":                                     "-",
	"npx tsc --noEmit -p tsconfig.json":                                     "-",
	"pytest -x -q tests/test_cat.py":                                        "-",
	"python3 -c 'print(open(\"a\").read() > \"b\")'":                        "-",
	"python3 - <<'EOF'\nimport sys\nprint(1 > 0)\nEOF":                      "-",
	"cargo test --release -- --nocapture":                                   "-",
	"make -j4 CFLAGS='-O2 -Wall' >build.log 2>&1":                           "-",
	"docker compose up -d && docker compose ps":                             "-",
	"docker ps --format '{{.Names}}' | grep api":                            "-",
	"kubectl get pods -A | awk '$4 > 0 {print $2}'":                         "-",
	"ps aux | grep node | grep -v grep":                                     "-",
	"curl -sS 'http://localhost:8080/x?a=1&b=2' | jq .":                     "-",
	"curl -fsSL https://example.com/install.sh -o install.sh":               "-",
	"echo $PATH":                                                "-",
	"echo \"total: $((1 + 2))\"":                                "-",
	"echo 'a -> b' && echo \"x > y\"":                           "-",
	"echo 'build failed' >&2; exit 1":                           "-",
	"printf '%s\\n' \"a > b\" | sort":                           "-",
	"[ \"$a\" \\> \"$b\" ] && echo bigger":                      "-",
	"[[ $a > $b ]] && echo bigger":                              "-",
	"sed -n '10,20p' main.c":                                    "-",
	"awk -F: '{ if ($3 > 1000) print $1 }' /etc/passwd":         "-",
	"find . -maxdepth 1 -newer go.mod":                          "-",
	"mkdir -p build && cp -r assets build/":                     "-",
	"mv a.txt b.txt; rm -rf tmp/cat":                            "-",
	"tar czf out.tgz -C dist . && ls -lh out.tgz":               "-",
	"for f in *.png; do convert \"$f\" \"${f%.png}.jpg\"; done": "-",
	"while ! nc -z localhost 5432; do sleep 1; done":            "-",
	"which cat grep find sed":                                   "-",
	"man grep | col -b | head -50":                              "-",
	"type rg >/dev/null 2>&1 || apt-get install -y ripgrep":     "-",
	"ssh build 'cat /var/log/syslog'":                           "-",
	"sudo cat /etc/shadow":                                      "-",
}

// Every one is judged right, as it is written and behind a cd that is
// taken away.
func TestR034_SixtyRealCommands(t *testing.T) {
	blocked := 0
	rules := Compile(append(DefaultRules(""), AsyncRules()...))
	for text, want := range realCommands {
		assert.Equal(t, want, suggested(text), "%q", text)
		if want != "-" {
			blocked++
		}
		_, rest, _ := SplitCd("cd work && " + text)
		block, _ := Intercept(rest, "cd work && "+text, rules, allTools)
		if want == "-" {
			want = ""
		}
		assert.Equal(t, want, block.SuggestedTool, "cd work && %q", text)
	}
	assert.Equal(t, 15, blocked)
	assert.Equal(t, 60, len(realCommands))
}
