package supervision_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"troupe/messages"
)

// The parts of the actor library that are used at all; the rest of it was
// measured and left (docs/decisions/005).
const (
	actorLib     = "github.com/asynkron/protoactor-go/actor"
	schedulerLib = "github.com/asynkron/protoactor-go/scheduler"
	eventLib     = "github.com/asynkron/protoactor-go/eventstream"
)

// The parts of the official SDK of MCP that its gateway is built on.
const (
	mcpLib = "github.com/modelcontextprotocol/go-sdk/mcp"
	rpcLib = "github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// anything of ours may be imported by the folders at the top.
const anything = "troupe/..."

// mayImport is the house plan: what each folder may know of the others, and
// which outside packages it may know. One line for each folder, the ground floor
// first; a folder that is not listed is an error.
var mayImport = map[string][]string{
	"messages":                    {"github.com/go-json-experiment/json", "golang.org/x/sys"},
	"host":                        {"messages"},
	"internal/near":               {},
	"spill":                       {"golang.org/x/sys"},
	"spill/view":                  {"spill", "github.com/charmbracelet/x/ansi"},
	"internal/artifact":           {"spill", "spill/view", "golang.org/x/sys", "github.com/rivo/uniseg"},
	"actors/lifecycle":            {"messages"},
	"actors/workers":              {actorLib},
	"actors":                      {"internal/codec", "messages", "actors/lifecycle", "actors/workers", "backends", "spill", "spill/view", actorLib, schedulerLib, eventLib},
	"backends":                    {"internal/codec", "messages", "spill"},
	"backends/ports":              {"messages", "golang.org/x/sys"},
	"backends/engine":             {"messages", "backends", "backends/ports", "spill", "golang.org/x/sys", "github.com/creack/pty"},
	"internal/test/enginetest":    {"messages", "backends/engine", "spill"},
	"backends/pipe":               {"messages", "backends", "backends/engine", "internal/shelltext", "spill", "golang.org/x/sys"},
	"backends/pty":                {"messages", "backends", "backends/pipe"},
	"backends/shell":              {"messages", "backends", "internal/shelltext", "spill", "golang.org/x/sys"},
	"backends/heap":               {},
	"backends/threads":            {},
	"internal/limits":             {"messages", "golang.org/x/sys"},
	"internal/signals":            {"golang.org/x/sys"},
	"backends/keeper":             {"messages", "internal/codec", "backends", "backends/heap", "backends/threads", "backends/engine", "internal/limits", "internal/signals", "spill", "golang.org/x/sys"},
	"backends/snapshot":           {"messages", "backends", "internal/shelltext", "spill"},
	"backends/screen":             {"messages", "backends", "spill", "github.com/charmbracelet/x", "github.com/charmbracelet/ultraviolet"},
	"backends/disk":               {},
	"internal/test/fake":          {"messages", "backends", "spill"},
	"internal/test/conformance":   {"messages", "backends", "internal/test/hostile", "spill"},
	"internal/test/hostile":       {},
	"internal/shelltext":          {"messages", "mvdan.cc/sh/v3/syntax"},
	"internal/shelltext/urls":     {"internal/shelltext"},
	"internal/shelltext/minimize": {"internal/shelltext", "mvdan.cc/sh/v3/syntax", "github.com/pelletier/go-toml/v2"},
	"internal/codec":              {"github.com/fxamacker/cbor/v2"},
	"internal/journal":            {"messages", "internal/codec", "internal/journal/former", "go.etcd.io/bbolt"},
	"internal/journal/former":     {"messages"},
	"faults":                      {"messages", "github.com/go-json-experiment/json", "github.com/pelletier/go-toml/v2", "golang.org/x/sys"},
	"internal/api":                {"messages", "internal/near", "github.com/go-json-experiment/json"},
	"internal/gateway/http":       {"messages", "internal/api", "internal/gateway/http/peer", "spill/view", "github.com/coder/websocket", "github.com/oklog/ulid/v2", "golang.org/x/sys"},
	"client":                      {"host", "messages", "internal/api", "internal/gateway/http/peer", "github.com/coder/websocket", "github.com/oklog/ulid/v2"},
	"internal/gateway/http/peer":  {"messages", "golang.org/x/sys"},
	"internal/gateway/webhook":    {"messages", "internal/api", "internal/gateway/http/peer"},
	"internal/dialect":            {"host", "internal/near", "messages"},
	"internal/test/dialect":       {anything, "github.com/stretchr/testify"},
	"internal/dialect/core":       {"messages", "internal/shelltext"},
	"internal/dialect/copilot":    {"host", "messages", "internal/dialect", "internal/shelltext", "internal/artifact", "github.com/oklog/ulid/v2"},
	"internal/dialect/opencode":   {"host", "messages", "internal/dialect", "internal/shelltext", "internal/artifact", "github.com/oklog/ulid/v2"},
	"internal/dialect/codelia":    {"host", "messages", "internal/dialect", "internal/shelltext", "internal/artifact", "github.com/oklog/ulid/v2"},
	"internal/dialect/omp":        {"host", "messages", "internal/dialect", "internal/shelltext", "internal/shelltext/urls", "internal/shelltext/minimize", "internal/artifact", "github.com/charmbracelet/x/ansi", "github.com/oklog/ulid/v2"},
	"internal/gateway/pi":         {"messages", "internal/dialect/omp"},
	"internal/gateway/mcp":        {"host", "messages", "internal/dialect", "internal/dialect/core", "internal/gateway/mcp/web", "internal/gateway/mcp/events", "internal/gateway/mcp/tasks", "spill/view", mcpLib, rpcLib, "github.com/oklog/ulid/v2"},
	"internal/gateway/mcp/web":    {mcpLib},
	"internal/gateway/jsonrpc":    {},
	"internal/gateway/codelia":    {"internal/dialect", "internal/dialect/codelia", "internal/gateway/jsonrpc"},
	"internal/gateway/mcp/events": {"internal/gateway/mcp/relay", mcpLib, rpcLib},
	"internal/gateway/mcp/relay":  {mcpLib, rpcLib},
	"internal/gateway/mcp/tasks":  {"internal/gateway/mcp/relay", mcpLib, rpcLib},
	"internal/gateway/acp":        {"messages", "internal/dialect", "internal/dialect/omp", "internal/shelltext", "github.com/go-json-experiment/json"},
	"internal/test/mcptest":       {},
	"internal/node":               {"actors", "backends", "backends/engine", "backends/heap", "backends/pipe", "backends/ports", "backends/pty", "backends/screen", "backends/shell", "backends/snapshot", "backends/threads", "host", "internal/artifact", "internal/dialect", "internal/journal", "internal/shelltext", "messages", "spill", "spill/view", "github.com/oklog/ulid/v2", actorLib},
	"examples":                    {"", "messages", mcpLib},
	"":                            {"actors", "client", "host", "internal/gateway/http/peer", "internal/node", "messages", "github.com/oklog/ulid/v2"},
	"bench":                       {anything, "golang.org/x/sys", mcpLib},
	"docs":                        {},
	"contrib/systemd":             {},
	"internal/cli":                {"golang.org/x/sys", "golang.org/x/term", "backends/pty", "messages"},
	"internal/cli/out":            {"github.com/dustin/go-humanize", "golang.org/x/sys", "golang.org/x/term", "internal/cli", "messages", "spill/view"},
	"internal/cli/flags":          {"docs", "github.com/dustin/go-humanize", "github.com/spf13/cobra", "github.com/spf13/pflag", "internal/cli", "internal/cli/out", "internal/near", "messages"},
	"internal/cli/config":         {"github.com/pelletier/go-toml/v2", "github.com/rs/zerolog", "golang.org/x/sys", "internal/cli", "internal/cli/flags", "internal/cli/out", "internal/gateway/http", "internal/gateway/http/peer", "internal/shelltext", "messages"},
	"internal/cli/terminal":       {"golang.org/x/sys", "backends/screen", "internal/cli", "internal/cli/out", "internal/shelltext", "messages"},
	"internal/cli/connect":        {"github.com/gofrs/flock", "github.com/spf13/cobra", "golang.org/x/sys", "internal/node", "actors", "backends/keeper", "client", "host", "internal/cli", "internal/cli/config", "internal/cli/flags", "internal/cli/out", "internal/cli/terminal", "internal/gateway/http", "internal/gateway/http/peer", "internal/api", "internal/journal", "messages", "spill"},
	"internal/cli/logs":           {"github.com/dustin/go-humanize", "client", "host", "internal/cli", "internal/cli/connect", "internal/cli/flags", "internal/cli/out", "internal/cli/terminal", "internal/api", "messages", "spill/view"},
	"internal/cli/attach":         {"github.com/coder/websocket", "golang.org/x/sys", "client", "host", "internal/cli", "internal/cli/connect", "internal/cli/logs", "internal/cli/out", "internal/cli/terminal", "internal/api", "messages", "spill/view"},
	"internal/cli/top":            {"charm.land/bubbletea/v2", "github.com/dustin/go-humanize", "golang.org/x/sys", "client", "host", "internal/api", "internal/cli", "internal/cli/connect", "internal/cli/out", "internal/cli/terminal", "messages"},
	"internal/cli/run":            {"github.com/dustin/go-humanize", "github.com/oklog/ulid/v2", "github.com/spf13/cobra", "golang.org/x/sys", "golang.org/x/term", "internal/node", "backends/engine", "backends/keeper", "client", "host", "internal/cli", "internal/cli/config", "internal/cli/connect", "internal/cli/flags", "internal/cli/out", "internal/cli/terminal", "internal/api", "internal/shelltext", "messages", "spill", "spill/view"},
	"internal/cli/doctor":         {"github.com/dustin/go-humanize", "github.com/oklog/ulid/v2", "golang.org/x/sys", "backends", "backends/engine", "backends/keeper", "backends/snapshot", "client", "internal/cli", "internal/cli/config", "internal/cli/connect", "internal/cli/out", "internal/limits", "internal/shelltext", "internal/signals", "messages", "spill"},
	"internal/cli/daemon":         {"github.com/coreos/go-systemd/v22", "github.com/gofrs/flock", "github.com/prometheus/client_golang", "github.com/rs/zerolog", "internal/node", "actors", "backends", "backends/heap", "backends/keeper", "backends/threads", "internal/cli", "internal/cli/config", "internal/cli/connect", "internal/cli/inject", "internal/cli/out", "faults", "internal/gateway/http", "internal/gateway/webhook", "internal/journal", "internal/limits", "internal/signals", "messages", "spill"},
	"internal/cli/inject":         {"actors", "backends", "faults", "golang.org/x/sys", "internal/gateway/http", "internal/journal", "messages"},
	"internal/cli/chaosrun":       {"client", "faults", "github.com/go-json-experiment/json", "golang.org/x/sys", "host", "internal/cli", "internal/cli/config", "internal/cli/connect", "internal/cli/daemon", "internal/cli/inject", "internal/cli/out", "internal/cli/terminal", "internal/shelltext", "messages"},
	"internal/cli/units":          {"contrib/systemd", "internal/cli", "internal/cli/config", "internal/cli/connect", "internal/cli/out", "messages"},
	"internal/cli/mcpinstall":     {"github.com/pelletier/go-toml/v2", "github.com/tailscale/hujson", "golang.org/x/sys", "internal/cli", "internal/cli/out", "messages"},
	"internal/cli/dialecthost":    {"github.com/oklog/ulid/v2", "golang.org/x/sys", "internal/node", "backends/engine", "backends/keeper", "backends/snapshot", "client", "internal/artifact", "internal/cli", "internal/cli/config", "internal/cli/connect", "internal/cli/terminal", "internal/dialect", "internal/gateway/http", "internal/shelltext", "messages", "spill"},
	"internal/cli/dialectconfig":  {"backends/disk", "internal/artifact", "internal/cli", "internal/cli/config", "internal/cli/dialecthost", "internal/cli/out", "internal/dialect/codelia", "internal/dialect/copilot", "internal/dialect/omp", "internal/shelltext", "internal/shelltext/minimize", "internal/shelltext/urls", "messages"},
	"internal/cli/mcpserve":       {"backends/disk", "backends/engine", "internal/artifact", "internal/cli", "internal/cli/config", "internal/cli/daemon", "internal/cli/dialecthost", "internal/cli/dialectconfig", "internal/cli/terminal", "internal/dialect/codelia", "internal/dialect/copilot", "internal/dialect/core", "internal/dialect/omp", "internal/dialect/opencode", "internal/gateway/http", "internal/gateway/mcp", "internal/gateway/mcp/web", "internal/shelltext", "messages"},
	"internal/cli/console":        {"charm.land/bubbles/v2", "charm.land/bubbletea/v2", "github.com/charmbracelet/x", "github.com/oklog/ulid/v2", "golang.org/x/sys", "host", "internal/artifact", "internal/cli", "internal/cli/config", "internal/cli/daemon", "internal/cli/dialectconfig", "internal/cli/dialecthost", "internal/cli/terminal", "internal/dialect", "internal/dialect/codelia", "internal/dialect/omp", "internal/shelltext", "messages"},
	"internal/cli/rpcserve":       {"github.com/oklog/ulid/v2", "golang.org/x/sys", "host", "internal/cli", "internal/cli/config", "internal/cli/daemon", "internal/cli/dialectconfig", "internal/cli/dialecthost", "internal/cli/out", "internal/cli/terminal", "internal/dialect", "internal/dialect/codelia", "internal/dialect/omp", "internal/gateway/acp", "internal/gateway/codelia", "internal/gateway/http", "internal/gateway/http/peer", "internal/gateway/pi", "internal/shelltext", "messages"},
	"cmd/troupe":                  {anything, "github.com/dustin/go-humanize", "github.com/orcaman/concurrent-map", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys"},
	"supervision_test":            {anything, "github.com/stretchr/testify", "pgregory.net/rapid", "go.uber.org/goleak", actorLib},
	"internal/test/need":          {"golang.org/x/sys"},
	"internal/test/keys":          {},
	"internal/test/mcpfixtures":   {"internal/gateway/mcp/tasks", "internal/gateway/mcp/web", mcpLib, rpcLib},
	"tools/modulepath":            {},
	"tools/mutants":               {},
	"tools/testsum":               {"gotest.tools/gotestsum"},
}

// houseFile is one Go file of the tree, parsed, whatever its build tags say.
type houseFile struct {
	path   string // from the root, with slashes
	folder string // "" is the root package
	test   bool
	text   string
	set    *token.FileSet
	ast    *ast.File
	vars   map[string]bool // the package-level variables of its package
	maps   []string        // the files that its folder's doc.go maps
}

// houseRule looks at one file and says what is wrong with it.
type houseRule struct {
	name  string
	check func(*houseFile) []string
}

// TestHouse holds every file of the tree against every rule of the house.
func TestHouse(t *testing.T) {
	files := houseTree(t, "..")
	if len(files) < 20 {
		t.Fatalf("found %d files: this is not the tree", len(files))
	}
	for _, rule := range houseRules {
		t.Run(rule.name, func(t *testing.T) {
			for _, f := range files {
				for _, complaint := range rule.check(f) {
					t.Error(complaint)
				}
			}
		})
	}
}

// houseTree parses all Go files below root.
func houseTree(t *testing.T, root string) []*houseFile {
	t.Helper()
	var files []*houseFile
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "testdata", "node_modules"}, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := houseParse(filepath.ToSlash(rel), string(text))
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	houseVars(files)
	houseMaps(files)
	return files
}

func houseParse(name, text string) (*houseFile, error) {
	f := &houseFile{
		path: name, folder: path.Dir(name), text: text, set: token.NewFileSet(),
		test: strings.HasSuffix(name, "_test.go"),
	}
	if f.folder == "." {
		f.folder = ""
	}
	var err error
	f.ast, err = parser.ParseFile(f.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err == nil {
		shortenImports(f.ast)
	}
	return f, err
}

// shortenImports names the packages of the tree as in the rules, whatever the path of the
// module is (make module).
func shortenImports(file *ast.File) {
	module := path.Dir(reflect.TypeFor[messages.RunCommand]().PkgPath())
	for _, spec := range file.Imports {
		if long, err := strconv.Unquote(spec.Path.Value); err == nil && under(long, module) {
			spec.Path.Value = strconv.Quote("troupe" + strings.TrimPrefix(long, module))
		}
	}
}

// houseVars tells each file the variables of its package.
func houseVars(files []*houseFile) {
	byPackage := map[string]map[string]bool{}
	for _, f := range files {
		key := f.folder + " " + f.ast.Name.Name
		if byPackage[key] == nil {
			byPackage[key] = map[string]bool{}
		}
		f.vars = byPackage[key]
		for _, decl := range f.ast.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.VAR {
				for _, spec := range group.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						f.vars[name.Name] = true
					}
				}
			}
		}
	}
}
