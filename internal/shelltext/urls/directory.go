package urls

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"troupe/internal/shelltext"
)

// Directory is the Router of a scheme whose resources are files in directories: agent,
// plan, memory and rule.
type Directory struct {
	Files shelltext.Files
	Of    string   // scheme
	Roots []string // the first that has the file wins

	Suffixes []string // tried after a name without a file, such as .md
	Index    string   // file of the URL without a name; "": none
	Prefix   string   // leading part of every name, such as root in memory://root/x; not a directory
}

// Agents returns the Router of agent://, with markdown files as omp stores them.
func Agents(files shelltext.Files, roots ...string) Directory {
	return Directory{Files: files, Of: Agent, Roots: roots, Suffixes: []string{".md"}}
}

// Plans returns the Router of plan://, with markdown files.
func Plans(files shelltext.Files, roots ...string) Directory {
	return Directory{Files: files, Of: Plan, Roots: roots, Suffixes: []string{".md"}}
}

// Memories returns the Router of memory://root, the summary and the files below it.
func Memories(files shelltext.Files, roots ...string) Directory {
	return Directory{Files: files, Of: Memory, Roots: roots, Prefix: "root", Index: "memory_summary.md"}
}

// Rules returns the Router of rule://, with markdown files, some for cursor.
func Rules(files shelltext.Files, roots ...string) Directory {
	return Directory{Files: files, Of: Rule, Roots: roots, Suffixes: []string{".md", ".mdc"}}
}

// Scheme returns Of.
func (d Directory) Scheme() string { return d.Of }

// Resolve returns the first file that exists. In the directory of a call it may be a
// directory.
func (d Directory) Resolve(u URL, use Use) (Resource, error) {
	name, err := d.name(u)
	if err != nil {
		return Resource{}, err
	}
	if len(d.Roots) == 0 {
		return Resource{}, fmt.Errorf(causeNoRoots, d.Of)
	}
	for _, root := range d.Roots {
		for _, suffix := range append([]string{""}, d.Suffixes...) {
			full, err := below(d.Files, root, name+suffix)
			if err != nil {
				return Resource{}, err
			}
			info, err := d.Files.Stat(full)
			if err == nil && (info.Mode().IsRegular() || info.IsDir() && use != ToRead && suffix == "") {
				return Resource{Path: full}, nil
			}
		}
	}
	return Resource{}, errors.New(causeNotFound)
}

// name returns the name of the file below a root.
func (d Directory) name(u URL) (string, error) {
	name, err := decode(u.Rest)
	if err != nil {
		return "", err
	}
	if d.Prefix != "" {
		rest, ok := strings.CutPrefix(name, d.Prefix)
		if !ok || rest != "" && rest[0] != '/' {
			return "", fmt.Errorf(causeNoName, d.Of+"://"+d.Prefix+"/")
		}
		name = strings.TrimPrefix(rest, "/")
	}
	if name == "" {
		name = d.Index
	}
	if name == "" {
		return "", fmt.Errorf(causeNoName, d.Of+"://")
	}
	if err := strict(name); err != nil {
		return "", err
	}
	return path.Clean(name), nil
}
