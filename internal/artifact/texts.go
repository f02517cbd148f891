package artifact

// LeftOut returns the Marker for the middle of a line that a file holds.
func LeftOut(left int64) string {
	return "... [" + Thousands(left) + " bytes of this line are left out; the file has them] ..."
}

// NotKept returns the line that stands for a gap of n bytes in a log.
func NotKept(n int64) string {
	return "[... " + Thousands(n) + " bytes were not kept ...]\n"
}
