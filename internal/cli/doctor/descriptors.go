package doctor

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"troupe/backends/keeper"
	"troupe/internal/limits"
)

// descriptors is the report of the open files of the daemon or the keeper.
type descriptors struct {
	Process string `json:"process"`
	Limit   uint64 `json:"limit"`
	Open    int    `json:"open"`
	Fits    *fits  `json:"fits,omitempty"` // of the keeper: what has room beside what is open
}

// fits says how many jobs of one kind some descriptors are enough for.
type fits struct {
	Merged   uint64 `json:"jobs"`
	Separate uint64 `json:"jobs_separate"` // stdout and stderr apart
	Shells   uint64 `json:"live_shells"`   // on pipes
}

func fitsIn(files uint64) *fits {
	of := func(each float64) uint64 { return uint64(float64(files) / each) }
	return &fits{of(keeper.DescriptorsMerged), of(keeper.DescriptorsSeparate), of(keeper.DescriptorsShell)}
}

func (f *fits) String() string {
	return fmt.Sprintf("%s jobs, %s with stdout and stderr apart, or %s live shells on pipes",
		humanize.Comma(int64(f.Merged)), humanize.Comma(int64(f.Separate)), humanize.Comma(int64(f.Shells)))
}

// descriptorsOf examines a process; nil: unknown.
func descriptorsOf(name string, pid int, holdsJobs bool) *descriptors {
	limit, open, known := limits.Files(pid)
	if !known {
		return nil
	}
	d := &descriptors{Process: name, Limit: limit, Open: open}
	if holdsJobs {
		d.Fits = fitsIn(limit - min(limit, uint64(open)))
	}
	return d
}

func (d *descriptors) String() string {
	text := fmt.Sprintf("%s: %d of %s are open", d.Process, d.Open, bound(d.Limit))
	if d.Fits == nil {
		return text + "; each connection needs one, and each log that is read"
	}
	return text + "; the rest is enough for " + d.Fits.String()
}

// openFiles describes the limit of open files: the daemon and its keepers raise theirs to the hard
// one.
func openFiles() limit {
	text := fmt.Sprintf("soft/hard; the keeper needs %v for a job, %v with stdout and stderr apart, %v for a live shell on pipes",
		keeper.DescriptorsMerged, keeper.DescriptorsSeparate, keeper.DescriptorsShell)
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil && bound(uint64(l.Max)) != unlimited {
		text += ": enough for " + fitsIn(uint64(l.Max)).String()
	}
	return limit{"open files", rlimit(unix.RLIMIT_NOFILE), text}
}
