package top

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"troupe/internal/cli/out"
	"troupe/messages"
)

// rowKind is what a row shows.
type rowKind uint8

const (
	jobRow rowKind = iota
	sessionRow
	scopeRow
)

// rowKey names what a row shows, also in later lists.
type rowKey struct {
	kind    rowKind
	scope   messages.ScopePath
	session messages.SessionID
	uid     messages.UID
}

// row is one line of the table. A row of a scope or a session has the sums of its jobs.
type row struct {
	rowKey
	depth   int
	job     *job                  // of a job
	info    *messages.SessionInfo // of a session; nil: it has ended
	scopes  *messages.ScopeInfo   // of a scope; nil: it has ended
	jobs    int
	share   float64
	memory  int64
	written uint64
}

// SortKeys lists the orders of the table. The first shows scopes and sessions with their jobs
// below them, oldest first; the others show jobs alone, the largest first, but names from A.
func SortKeys() []string { return []string{"age", "cpu", "memory", "output", "duration", "name"} }

// rowsOf returns the rows of the table: those that match the filter, in their order.
func (j *jobs) rowsOf(filter, sort string, reverse bool, now time.Time) []row {
	chosen := make([]*job, 0, len(j.all))
	filter = strings.ToLower(filter)
	for _, one := range j.all {
		if one.matches(filter, now) {
			chosen = append(chosen, one)
		}
	}
	slices.SortFunc(chosen, older)
	if sort == SortKeys()[0] {
		if reverse {
			slices.Reverse(chosen)
		}
		return j.tree(chosen, filter == "")
	}
	slices.SortStableFunc(chosen, func(a, b *job) int { return compareBy(sort, a, b, now) })
	if reverse {
		slices.Reverse(chosen)
	}
	rows := make([]row, len(chosen))
	for i, one := range chosen {
		rows[i] = rowOf(one, 0)
	}
	return rows
}

// older orders jobs by age.
func older(a, b *job) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
}

// compareBy orders jobs by one of the sort keys.
func compareBy(sort string, a, b *job, now time.Time) int {
	switch sort {
	case "cpu":
		return cmp.Compare(b.share, a.share)
	case "memory":
		return cmp.Compare(b.memory(), a.memory())
	case "output":
		return cmp.Compare(out.OutputBytes(b.Record), out.OutputBytes(a.Record))
	case "duration":
		return cmp.Compare(out.Ran(b.Record, now), out.Ran(a.Record, now))
	default:
		return strings.Compare(a.Name, b.Name)
	}
}

// memory returns the memory of a job's processes, in bytes.
func (j *job) memory() int64 {
	if j.Live == nil {
		return 0
	}
	return j.Live.Memory
}

// matches reports whether a job has a text, in lower case, in what its row or its place shows.
func (j *job) matches(text string, now time.Time) bool {
	if text == "" {
		return true
	}
	for _, in := range []string{string(j.ID), j.Name, string(j.Scope), string(j.Session), j.Command, out.StatusText(j.Record, now)} {
		if strings.Contains(strings.ToLower(in), text) {
			return true
		}
	}
	return false
}

// rowOf returns the row of a job.
func rowOf(one *job, depth int) row {
	return row{rowKey: rowKey{kind: jobRow, uid: one.UID}, depth: depth, job: one}
}

// place is where jobs run: a session of a scope.
type place struct {
	scope   messages.ScopePath
	session messages.SessionID
}

// tree returns each job below its session and its scope. The jobs of the default session are
// below their scope. With empty it has scopes and sessions without jobs too.
func (j *jobs) tree(chosen []*job, empty bool) (rows []row) {
	below := map[place][]*job{}
	scopes, sessions := map[messages.ScopePath]*messages.ScopeInfo{}, map[place]*messages.SessionInfo{}
	for _, one := range chosen {
		at := place{one.Scope, one.Session}
		below[at] = append(below[at], one)
		scopes[one.Scope], sessions[at] = nil, nil
	}
	for i := range j.sessions {
		info := &j.sessions[i]
		at := place{info.Scope, info.Session}
		if _, has := sessions[at]; empty || has {
			sessions[at] = info
		}
	}
	for i := range j.scopes {
		info := &j.scopes[i]
		if _, has := scopes[info.Path]; empty || has {
			scopes[info.Path] = info
		}
	}
	named := map[messages.ScopePath][]messages.SessionID{}
	for at := range sessions {
		if at.session != messages.DefaultSession {
			named[at.scope] = append(named[at.scope], at.session)
		}
	}
	for _, scope := range slices.SortedFunc(maps.Keys(scopes), func(a, b messages.ScopePath) int { return slices.Compare(a.Names(), b.Names()) }) {
		head, depth := len(rows), len(scope.Names())-1
		rows = append(rows, row{rowKey: rowKey{kind: scopeRow, scope: scope}, depth: depth, scopes: scopes[scope]})
		rows = appendJobs(rows, below[place{scope, messages.DefaultSession}], depth+1, head)
		for _, session := range slices.Sorted(slices.Values(named[scope])) {
			at := place{scope, session}
			rows = append(rows, row{rowKey: rowKey{kind: sessionRow, scope: scope, session: session}, depth: depth + 1, info: sessions[at]})
			rows = appendJobs(rows, below[at], depth+2, head, len(rows)-1)
		}
	}
	return rows
}

// appendJobs appends the rows of jobs, and adds them to the sums of the rows heads.
func appendJobs(rows []row, below []*job, depth int, heads ...int) []row {
	for _, one := range below {
		rows = append(rows, rowOf(one, depth))
		for _, head := range heads {
			rows[head].add(one)
		}
	}
	return rows
}

// add adds a job to the sums of a row.
func (r *row) add(one *job) {
	r.jobs++
	r.share += max(one.share, 0)
	r.memory += one.memory()
	r.written += out.OutputBytes(one.Record)
}
