package dialect

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// own is a type that reads itself.
type own string

func (own) UnmarshalJSON(b []byte) error { return errors.New("id is " + string(b)) }

// What is wrong with arguments is said by name, in words of JSON.
func TestBadInputOfADialectsTool(t *testing.T) {
	type params struct {
		ID   own               `json:"id"`
		Text string            `json:"text"`
		N    *int              `json:"n"`
		Wait *float64          `json:"wait"`
		On   bool              `json:"on"`
		List []string          `json:"list"`
		Env  map[string]string `json:"env"`
	}
	for arguments, want := range map[string]string{
		``:                        "",
		` {} `:                    "",
		`{"text":"x","n":3}`:      "",
		`{"text":1}`:              "text is a number; it must be a string",
		`{"text":["x"]}`:          "text is a list; it must be a string",
		`{"n":1.5}`:               "n is a number 1.5; it must be a whole number",
		`{"n":"1"}`:               "n is a string; it must be a whole number",
		`{"wait":"1"}`:            "wait is a string; it must be a number",
		`{"on":{}}`:               "on is an object; it must be true or false",
		`{"list":"x"}`:            "list is a string; it must be a list",
		`{"env":true}`:            "env is true or false; it must be an object",
		`{"list":["x",1]}`:        "an element of list is a number; it must be a string",
		`{"list":[["x"]]}`:        "an element of list is a list; it must be a string",
		`{"env":{"A":1}}`:         "an element of env is a number; it must be a string",
		`{"txt":"x"}`:             `there is no parameter "txt"`,
		`{"text":"x"} {"text":1}`: "there is data after the arguments; send one JSON object",
		`null`:                    "",
		`"x"`:                     "the arguments are a string; they must be an object",
		`[{}]`:                    "the arguments are a list; they must be an object",
		`7`:                       "the arguments are a number; they must be an object",
		`true`:                    "the arguments are true or false; they must be an object",
		`{"id":true}`:             "id is true",
		`{"text":x}`:              "the arguments are not a JSON object: invalid character 'x' looking for beginning of value",
		`{"text":`:                "the arguments are not a JSON object: unexpected EOF",
	} {
		var p params
		err := Decode(json.RawMessage(arguments), &p)
		if want == "" {
			require.Nil(t, err, arguments)
			continue
		}
		require.NotNil(t, err, arguments)
		require.Equal(t, want, err.Message, arguments)
	}
}
