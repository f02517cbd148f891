package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"troupe/messages"
)

// ProgramPath returns the absolute path by which other programs start troupe. A desktop or a
// service has another PATH than a shell. If PATH leads to this program, that path is used: it
// stays valid when the program that a link names is replaced by another version.
func ProgramPath(m *Main) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", &messages.Error{Code: messages.Internal, Message: "cannot find the program that runs: " + err.Error()}
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", &messages.Error{Code: messages.NotFound, Reason: "program", Message: "cannot find the program that runs: " + err.Error(), Hint: "it was moved or removed; run it from its new place"}
	}
	path, _ := m.Getenv("PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		at, err := exec.LookPath(filepath.Join(dir, "troupe"))
		if err != nil {
			continue
		}
		if found, err := os.Stat(at); err == nil && os.SameFile(info, found) {
			return at, nil
		}
		break // PATH leads to another program
	}
	return self, nil
}

// LastingProgramPath returns ProgramPath, for a file that keeps it. It refuses a path in the
// cache of npx and its like.
func LastingProgramPath(m *Main) (string, error) {
	path, err := ProgramPath(m)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path
	}
	for _, at := range []string{path, target} {
		if by, install := fetchedBy(at); by != "" {
			return "", &messages.Error{
				Code: messages.Refused, Reason: "program", Message: "this program is in the cache of " + by + ", which may be emptied at any time: " + at,
				Hint: "install it with " + install + ", and run that one",
			}
		}
	}
	return path, nil
}

// fetchedBy returns the command that has fetched the program at a path for one run, and the
// command that installs it. Both are "" for an installed program.
//
//	npx         CACHE/_npx/HASH/node_modules/…
//	pnpm dlx    CACHE/dlx/HASH/TIME-PID/node_modules/…, in older versions STORE/tmp/dlx-PID/…
//	yarn dlx    TMPDIR/xfs-RANDOM/dlx-PID/…
//	bunx        TMPDIR/bunx-UID-PACKAGE@VERSION/node_modules/…
func fetchedBy(path string) (by, install string) {
	const npm = "npm install --global troupe"
	dirs := strings.Split(filepath.Dir(path), "/")
	for i, dir := range dirs {
		switch {
		case dir == "_npx":
			return "npx", npm
		case dir == "dlx" && slices.Contains(dirs[i:], "node_modules"):
			return "pnpm dlx", "pnpm add --global troupe"
		case regexp.MustCompile(`^dlx-[0-9]+$`).MatchString(dir):
			return "yarn dlx or pnpm dlx", npm
		case regexp.MustCompile(`^bunx-[0-9]+-`).MatchString(dir):
			return "bunx", "bun add --global troupe"
		}
	}
	return "", ""
}
