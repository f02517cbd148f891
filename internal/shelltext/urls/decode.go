package urls

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"troupe/internal/shelltext"
)

// decode resolves percent-encoding. The result has no NUL byte; encoded bytes must form
// UTF-8.
func decode(text string) (string, error) {
	if !strings.Contains(text, "%") && strings.IndexByte(text, 0) < 0 {
		return text, nil
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if len(text) < i+3 {
				return "", errors.New(causeEncoding)
			}
			byteOf, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err != nil {
				return "", errors.New(causeEncoding)
			}
			c = byte(byteOf)
			i += 2
		}
		if c == 0 {
			return "", errors.New(causeEncoding)
		}
		out.WriteByte(c)
	}
	if plain := out.String(); utf8.ValidString(plain) || !utf8.ValidString(text) {
		return plain, nil
	}
	return "", errors.New(causeEncoding)
}

// below returns the path of a file below root. Symbolic links must not lead out of root
// . The file need not exist.
func below(files shelltext.Files, root, name string) (string, error) {
	target := path.Join(root, name)
	escapes := fmt.Errorf(causeEscapes, root)
	if !shelltext.Within(path.Clean(root), target) {
		return "", escapes
	}
	realRoot, err := shelltext.RealPath(files, root)
	if err != nil {
		return "", err
	}
	real, err := shelltext.RealPath(files, target)
	if err != nil {
		return "", err
	}
	if !shelltext.Within(realRoot, real) {
		return "", escapes
	}
	return target, nil
}

// strict rejects absolute names and names with "..".
func strict(name string) error {
	switch {
	case path.IsAbs(name):
		return errors.New(causeAbsolute)
	case slices.Contains(strings.Split(strings.ReplaceAll(name, `\`, "/"), "/"), ".."):
		return errors.New(causeDotDot)
	}
	return nil
}
