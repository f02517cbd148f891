package supervision_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mapLine is a line of a package comment that says what a file holds, whatever platforms it is split for:
//
//	admission.go   decides whether a request becomes a job
var mapLine = regexp.MustCompile(`(?m)^\t([a-z0-9_]+)\.go +\S`)

// mapped gives the files that the map in a folder's doc.go names.
func mapped(doc *houseFile) []string {
	var names []string
	for _, m := range mapLine.FindAllStringSubmatch(doc.ast.Doc.Text(), -1) {
		names = append(names, m[1])
	}
	return names
}

// houseMaps gives each file the map of its folder.
func houseMaps(files []*houseFile) {
	maps := map[string][]string{}
	for _, f := range files {
		if !f.test && stem(f) == "doc" && f.ast.Doc != nil {
			maps[f.folder] = mapped(f)
		}
	}
	for _, f := range files {
		f.maps = maps[f.folder]
	}
}

// unmappedFiles counts a file that no line of its folder's doc.go maps.
func unmappedFiles(f *houseFile) int {
	if f.test || stem(f) == "doc" || slices.Contains(f.maps, stem(f)) {
		return 0
	}
	return 1
}

// TestHouseMaps holds each line of a doc.go to a file: a map leads somewhere.
func TestHouseMaps(t *testing.T) {
	there := map[string]map[string]bool{}
	files := houseTree(t, "..")
	for _, f := range files {
		if there[f.folder] == nil {
			there[f.folder] = map[string]bool{}
		}
		there[f.folder][stem(f)] = there[f.folder][stem(f)] || !f.test
	}
	for _, f := range files {
		for _, name := range f.maps {
			if stem(f) == "doc" && !there[f.folder][name] {
				t.Errorf("%s maps %s, which is no file of the folder", f.path, name)
			}
		}
	}
}

// public are the folders that another module may import: six are the API, docs and contrib/systemd have files as
// texts (a file is embedded where it lies), the others are seams that may change.
var public = []string{
	"", "messages", "host", "client", "spill", "spill/view", "docs", "contrib/systemd",
	"actors", "backends", "faults", "backends/local", "backends/keeper", "backends/kinds",
}

// TestHousePublic holds the list of public folders: everything else is internal, a program or a test kit.
func TestHousePublic(t *testing.T) {
	extra := map[string]bool{}
	for _, f := range houseTree(t, "..") {
		if !f.test && !slices.Contains(public, f.folder) && !isInternal(f) && f.ast.Name.Name != "main" && f.folder != "bench" {
			extra[f.folder] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(extra)) {
		if !slices.Contains(publicForNow, folder) {
			t.Errorf("%s can be imported from outside: move it below internal, or name it in public", folder)
		}
	}
	for _, folder := range publicForNow {
		if !extra[folder] {
			t.Errorf("%s is not public any more: strike it from publicForNow", folder)
		}
	}
}

// isInternal says whether a folder lies below internal.
func isInternal(f *houseFile) bool {
	return slices.Contains(strings.Split(f.folder, "/"), "internal")
}

// publicForNow are folders that are rebuilt below internal one after the other; the list only gets shorter.
var publicForNow = []string{
	"actors/lifecycle",
	"actors/workers",
	"backends/disk",
	"backends/engine",
	"backends/heap",
	"backends/pipe",
	"backends/ports",
	"backends/pty",
	"backends/screen",
	"backends/shell",
	"backends/snapshot",
	"backends/threads",
}
