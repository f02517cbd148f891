package artifact

// The texts of ours in what this package makes; all others are the dialects'.

// LeftOut is the Marker of a line whose middle a file has.
func LeftOut(left int64) string {
	return "... [" + Thousands(left) + " bytes of this line are left out; the file has them] ..."
}

// NotKept is the line that stands for bytes that the quota of a log took away.
func NotKept(n int64) string {
	return "[... " + Thousands(n) + " bytes were not kept ...]\n"
}
