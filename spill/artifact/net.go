package artifact

import "io"

// Net is the last bound on the result of any tool.
type Net struct {
	Bytes     int64 // a longer text is cut; 0: NetBytes
	TailBytes int64 // 0: NetTailBytes
	TailLines int64 // 0: NetTailLines
}

// Catch gives s back, or its tail if it is too long, with all of it in the file that
// open makes. No file (nil) is no error: the text is cut all the same.
func (n Net) Catch(s string, open func() (*File, error)) (Cut, *File) {
	if int64(len(s)) <= or(n.Bytes, NetBytes) {
		return whole(s), nil
	}
	var out spillFile
	out.open = open
	out.begin(nil)
	if out.file != nil {
		if _, err := io.WriteString(out.file, s); err != nil {
			out.file.Discard()
			out.file = nil
		}
	}
	return TailOf(s, Limits{Bytes: or(n.TailBytes, NetTailBytes), Lines: or(n.TailLines, NetTailLines)}), out.end()
}

func or(n, otherwise int64) int64 {
	if n == 0 {
		return otherwise
	}
	return n
}
