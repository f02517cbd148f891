package keeper

// Descriptors of a keeper for each of its jobs; TestDescriptorsOfAJob measures them. Those of the
// first two are averages of CrowdMeasured jobs that have written something: 256 of the jobs have
// two more, for their cgroups. That of a live shell includes the two. The daemon has one for each
// log that it reads.
const (
	DescriptorsMerged   = 2.1 // a job on pipes with one output
	DescriptorsSeparate = 4.1 // a job with stdout and stderr apart
	DescriptorsShell    = 7.0 // a live shell on pipes that waits for a command

	CrowdMeasured = 5000
)
