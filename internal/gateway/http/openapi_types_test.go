package http_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// typed is a program with the types that are made from openapi.yaml.
const typed = `import type { components, paths } from "./types"

type Job = components["schemas"]["Record"]
type Listed = paths["/v1/jobs"]["get"]["responses"][200]["content"]["application/json"]

export const bytes = (list: Listed): (number | null | undefined)[] => list.jobs.map((job) => job.output.merged?.bytes)
export const late = (job: Job): boolean => job.outcome === "timed_out"
`

// Types for TypeScript are made from openapi.yaml. A program reads the size of an output with
// them, and one with an outcome that there is not does not compile.
func TestTypesAreMadeFromOpenAPI(t *testing.T) {
	t.Parallel()
	node, modules := need.Node(t)
	dir := t.TempDir()
	run := func(script string, args ...string) (string, error) {
		cmd := exec.Command(node, append([]string{filepath.Join(modules, script)}, args...)...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	document, err := filepath.Abs("openapi.yaml")
	require.NoError(t, err)
	said, err := run("openapi-typescript/bin/cli.js", document, "-o", filepath.Join(dir, "types.ts"))
	require.NoError(t, err, said)
	compile := func(name, text string) (string, error) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return run("typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck", name)
	}
	said, err = compile("right.ts", typed)
	require.NoError(t, err, said)
	said, err = compile("wrong.ts", typed+"export const wrong: Job[\"outcome\"] = \"expired\"\n")
	require.Error(t, err)
	require.Contains(t, said, `wrong.ts(8,14): error TS2322: Type '"expired"' is not assignable`)
}
