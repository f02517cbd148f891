package urls

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"troupe/internal/shelltext"
)

// SkillFile is a skill of the host: its file, and the directory it may refer to.
type SkillFile struct{ Name, File, Dir string }

// Skills is the Router of skill:// (R-043).
type Skills struct {
	Files shelltext.Files
	Known []SkillFile
}

// Scheme returns Skill.
func (s Skills) Scheme() string { return Skill }

// Resolve returns the file of a skill, or one below its directory.
func (s Skills) Resolve(u URL, _ Use) (Resource, error) {
	name, rest, deeper := strings.Cut(u.Rest, "/")
	if name == "" {
		return Resource{}, errors.New(causeSkillURL)
	}
	name, err := decode(name)
	if err != nil {
		return Resource{}, err
	}
	skill, ok := s.find(name)
	if !ok {
		return Resource{}, fmt.Errorf(causeNoSkill, name, oneOf(s.names()))
	}
	if !deeper || rest == "" {
		return Resource{Path: skill.File}, nil
	}
	if rest, err = decode(rest); err != nil {
		return Resource{}, err
	}
	if err := strict(rest); err != nil {
		return Resource{}, err
	}
	full, err := below(s.Files, skill.Dir, rest)
	return Resource{Path: full}, err
}

// find returns the skill with the longest name that is a prefix of name in whole
// segments. Later segments, as in plugin:skill:1-5, are for the reader of the file.
func (s Skills) find(name string) (SkillFile, bool) {
	for {
		at := slices.IndexFunc(s.Known, func(k SkillFile) bool { return k.Name == name })
		if at >= 0 {
			return s.Known[at], true
		}
		colon := strings.LastIndexByte(name, ':')
		if colon <= 0 {
			return SkillFile{}, false
		}
		name = name[:colon]
	}
}

func (s Skills) names() []string {
	var names []string
	for _, skill := range s.Known {
		names = append(names, skill.Name)
	}
	slices.Sort(names)
	return names
}
