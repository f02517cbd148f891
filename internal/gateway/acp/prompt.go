package acp

import (
	"net/url"
	"strings"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// promptBlock is a part of a prompt.
type promptBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
	URI  string `json:"uri"`
}

// commandOf returns the command of a prompt: its texts, without a leading ! or !!, as people
// type in the composer of oh-my-pi. A linked file stands as its quoted path.
func commandOf(prompt []promptBlock) (string, *rpcError) {
	var text strings.Builder
	for i, b := range prompt {
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "resource_link":
			path, bad := linkedPath(b.URI)
			if bad != nil {
				return "", bad
			}
			text.WriteString(shelltext.Quote(path))
		default:
			return "", refusal(codeInvalidParams, "part %d of the prompt has the type %.40q: a command is made of text and links to files", i+1, b.Type)
		}
	}
	command := strings.TrimSpace(text.String())
	if bare, two := strings.CutPrefix(command, "!!"); two {
		command = bare
	}
	command = strings.TrimSpace(strings.TrimPrefix(command, "!"))
	switch {
	case command == "":
		return "", refusal(codeInvalidParams, "the prompt has no command")
	case strings.ContainsRune(command, 0):
		return "", refusal(codeInvalidParams, "the command contains a NUL byte")
	case len(command) > messages.MaxText:
		return "", refusal(codeInvalidParams, "the command has %d bytes; at most %d are allowed", len(command), messages.MaxText)
	}
	return command, nil
}

// linkedPath returns the path of a link to a file, without its position in the file.
func linkedPath(uri string) (string, *rpcError) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", refusal(codeInvalidParams, "the link %.100q is none to a file of this machine", uri)
	}
	return u.Path, nil
}
