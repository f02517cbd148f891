package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"troupe/messages"
)

// maxLine bounds a message, in bytes: JSON may double the longest command.
const maxLine = 2*messages.MaxText + 1<<20

// maxID bounds the id of a request, in bytes: each response repeats it.
const maxID = 1 << 10

// frame is one message of the client.
type frame struct {
	id     jsontext.Value // nil: a notification
	method string
	params jsontext.Value

	response bool           // a reply to a request of the agent
	result   jsontext.Value // of a response; nil: err is set
	err      *rpcError
}

// parse parses a line. If it is no message, the frame has the id of the answer.
func parse(line []byte) (frame, *rpcError) {
	var m struct {
		Version jsontext.Value `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Method  jsontext.Value `json:"method"`
		Params  jsontext.Value `json:"params"`
		Result  jsontext.Value `json:"result"`
		Error   jsontext.Value `json:"error"`
	}
	if !jsontext.Value(line).IsValid() {
		return frame{}, refusal(codeParse, "the message is no JSON in UTF-8 with unique names")
	}
	if json.Unmarshal(line, &m) != nil || line[0] != '{' {
		return frame{}, refusal(codeInvalidRequest, "the message is no object; send one object a line")
	}
	switch {
	case m.ID != nil && !validID(m.ID):
		return frame{}, refusal(codeInvalidRequest, "the id is no string, number or null of at most %d bytes", maxID)
	case string(m.Version) != `"2.0"`:
		return frame{id: m.ID}, refusal(codeInvalidRequest, `jsonrpc is not "2.0"`)
	case m.Method != nil:
		f := frame{id: m.ID, params: m.Params}
		if json.Unmarshal(m.Method, &f.method) != nil || m.Method.Kind() != '"' {
			return f, refusal(codeInvalidRequest, "the method is no string")
		}
		return f, nil
	case m.ID == nil || (m.Result == nil) == (m.Error == nil):
		return frame{}, refusal(codeInvalidRequest, "the message is no request, notification or response")
	}
	f := frame{id: m.ID, response: true, result: m.Result}
	if m.Error != nil {
		f.err = &rpcError{}
		if json.Unmarshal(m.Error, f.err) != nil {
			f.err = refusal(codeInternal, "the client sent an error in another form")
		}
	}
	return f, nil
}

// validID reports whether a response can repeat an id.
func validID(id jsontext.Value) bool {
	switch id.Kind() {
	case '"', '0', 'n':
		return len(id) <= maxID
	}
	return false
}

// readLine returns the next line without the space around it. It discards a line above
// maxLine and reports that with long.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		switch {
		case long:
		case len(line)+len(part) > maxLine:
			line, long = nil, true
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.ErrClosedPipe) {
				err = io.EOF
			}
			return bytes.TrimSpace(line), long, err
		}
	}
}
