package engine

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/backends"
)

// defaultPath is searched if the environment has no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// lookup finds a job's program as a shell does: in the PATH of the job's environment,
// relative to its directory dir. A name with a slash is a path, which exec checks.
// Program holds an earlier result.
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

// executable reports why a file cannot be executed. A file in a directory that may not
// be entered counts as missing, as for a shell: a PATH may name other users'
// directories.
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

// pathOf returns the last PATH of an environment.
func pathOf(env []string) string {
	for _, e := range slices.Backward(env) {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			return path
		}
	}
	return defaultPath
}
