package engine

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/backends"
)

// defaultPath is where programs are looked for if the environment names no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// lookup finds the program of a job as a shell does: in the PATH of the job's
// own environment, relative to its own directory dir. A name with a slash is a
// path already; what is wrong with it the exec will say. What was looked up
// before is not looked up again.
func lookup(sys Sys, dir int, spec *backends.Spec) (string, error) {
	if spec.Program != "" {
		return spec.Program, nil
	}
	program := spec.Argv[0]
	if strings.ContainsRune(program, '/') {
		return program, nil
	}
	var denied error
	var st unix.Stat_t // one for all: it goes to the heap
	for _, place := range filepath.SplitList(pathOf(spec.Env)) {
		if place == "" {
			place = "."
		}
		candidate := place + "/" + program
		err := executable(sys, dir, candidate, &st)
		if err == nil {
			return candidate, nil
		}
		if err == unix.EACCES {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", unix.ENOENT
}

// executable reports why a file cannot be executed, as far as its name tells.
// What is in a directory that may not be entered is not there, as for a shell:
// the PATH of a user may have those of another in it.
func executable(sys Sys, dir int, path string, st *unix.Stat_t) error {
	if err := sys.StatAt(dir, path, st); err == unix.EACCES {
		return unix.ENOENT
	} else if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.EACCES
	}
	return sys.AccessAt(dir, path)
}

// pathOf is the PATH of an environment; the last one counts.
func pathOf(env []string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if path, ok := strings.CutPrefix(env[i], "PATH="); ok {
			return path
		}
	}
	return defaultPath
}
