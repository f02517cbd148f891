package run

import (
	"fmt"
	"io"
	"os"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// maxEnvFile bounds an --env-file, in bytes: the kernel accepts at most 2 MiB of
// environment and arguments together.
const maxEnvFile = 2 << 20

// addVariables adds the variables from the files, then from the flags. A name alone
// takes the caller's value, if there is one.
func addVariables(m *cli.Main, r *messages.RunCommand, f *Flags) error {
	for _, name := range f.EnvFile {
		if err := readEnvFile(m, r, name); err != nil {
			return err
		}
	}
	for _, kv := range f.Env {
		if err := addVariable(m, r, kv); err != nil {
			return err
		}
	}
	return nil
}

func addVariable(m *cli.Main, r *messages.RunCommand, kv string) error {
	name, _, given := strings.Cut(kv, "=")
	if !messages.ValidEnvName(name) {
		return &messages.Error{
			Code: messages.EnvRefused, Reason: "env", Message: fmt.Sprintf("invalid environment variable name %q", name),
			Hint: "use NAME=value with letters, digits and '_', not beginning with a digit",
		}
	}
	if given {
		r.Env.Set = append(r.Env.Set, kv)
	} else if value, ok := m.Getenv(name); ok {
		r.Env.Set = append(r.Env.Set, name+"="+value)
	}
	return nil
}

// readEnvFile reads one variable a line, without quotes and expansion. It skips empty
// lines and those that begin with #.
func readEnvFile(m *cli.Main, r *messages.RunCommand, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return out.Unreadable("env_file", "the environment file", err)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxEnvFile+1))
	switch {
	case err != nil:
		return out.Unreadable("env_file", "the environment file", err)
	case len(b) > maxEnvFile:
		return &messages.Error{Code: messages.TooLarge, Reason: "env_file", Message: fmt.Sprintf("the environment file %s is larger than %d bytes", name, maxEnvFile), Hint: "shorten it: the kernel accepts no larger environment"}
	}
	for n, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if t := strings.TrimSpace(line); t == "" || t[0] == '#' {
			continue
		}
		if err := addVariable(m, r, line); err != nil {
			e := out.Coded(err)
			return &messages.Error{Code: e.Code, Reason: e.Reason, Message: fmt.Sprintf("%s, line %d: %s", name, n+1, e.Message), Hint: e.Hint}
		}
	}
	return nil
}
