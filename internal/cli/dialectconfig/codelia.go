package dialectconfig

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"troupe/backends/disk"
	"troupe/internal/cli/config"
	"troupe/internal/cli/dialecthost"
	"troupe/internal/dialect/codelia"
	"troupe/internal/shelltext"
)

// CodeliaOptions returns the options of a session of codelia that the settings give. dir is the
// directory of the server, env its environment. The host, its group of tasks, the scope, the
// name, the files and the questions are the front end's.
func CodeliaOptions(at *config.Settings, dir string, env []string, log *slog.Logger) codelia.Options {
	c, root, wrap := at.Codelia, at.Codelia.Root, slices.Clone(at.Codelia.Wrap)
	if root == "" {
		root = dir
	}
	if len(wrap) > 0 {
		wrap[0] = shelltext.Find(wrap[0], env, config.Executable)
	}
	return codelia.Options{
		Dir: dir, Env: env, FS: disk.Files{}, PassEnv: c.Env, Owner: dialecthost.Owner(), Log: log,
		Policy: codelia.Rules{FS: disk.Files{}, Root: root, Deny: c.Deny, Wrap: wrap},
	}
}

// checkCodelia checks the settings of codelia for a server in a directory, before it serves.
func checkCodelia(at *config.Settings, dir string, env []string) error {
	c := at.Codelia
	wrong := func(setting, why string, values ...any) error {
		return config.SettingError(at.File(), at.Text(), "codelia."+setting, "codelia."+setting+" "+fmt.Sprintf(why, values...))
	}
	if c.Root != "" {
		if !filepath.IsAbs(c.Root) {
			return wrong("root", "%q is relative; give an absolute path", c.Root)
		}
		root, err := shelltext.RealPath(disk.Files{}, c.Root)
		if info, failed := (disk.Files{}).Stat(c.Root); err != nil || failed != nil || !info.IsDir() {
			return wrong("root", "%s is not a directory; give a directory, or leave it out", c.Root)
		}
		if own, err := shelltext.RealPath(disk.Files{}, dir); err == nil && !shelltext.Within(root, own) {
			return wrong("root", "%s does not contain %s, the directory of this server; start the server below it", c.Root, dir)
		}
	}
	for _, word := range c.Deny {
		if word == "" || strings.ContainsAny(word, " \t\r\n") {
			return wrong("deny", "has %q; use names of programs, such as \"mkfs\"", word)
		}
	}
	for _, name := range c.Env {
		if name == "" || strings.ContainsAny(name, "= \t\n\x00") {
			return wrong("env", "has %q; use names of variables, without values", name)
		}
	}
	if len(c.Wrap) > 0 && !config.Executable(shelltext.Find(c.Wrap[0], env, config.Executable)) {
		return wrong("wrap", "begins with %q, which is not found or not executable; give the absolute path of a program", c.Wrap[0])
	}
	return nil
}
