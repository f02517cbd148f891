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
		Secs *float64          `json:"wait_seconds"`
		In   *struct {
			N int `json:"n"`
		} `json:"in"`
	}
	for arguments, want := range map[string]string{
		``:                        "",
		` {} `:                    "",
		`{"text":"x","n":3}`:      "",
		`{"text":1}`:              "text is a number; it must be a string",
		`{"text":["x"]}`:          "text is a list; it must be a string",
		`{"n":1.5}`:               "n is a number 1.5; it must be a whole number",
		`{"n":"1x"}`:              "n is a string; it must be a whole number",
		`{"n":""}`:                "n is a string; it must be a whole number",
		`{"n":"1.5"}`:             "n is a number 1.5; it must be a whole number",
		`{"wait":"soon"}`:         "wait is a string; it must be a number",
		`{"wait":"1s"}`:           "wait is a string; it must be a number",
		`{"wait":1e999}`:          "wait is 1e999, which is larger than any number can be",
		`{"on":"yes"}`:            "on is a string; it must be true or false",
		`{"on":1}`:                "on is a number; it must be true or false",
		`{"list":"a, b"}`:         "list is a string; it must be a list",
		`{"list":["x",null]}`:     "an element of list is null; it must be a string",
		`{"list":"[1]"}`:          "an element of list is a number; it must be a string",
		`{"env":{"A":null}}`:      "an element of env is null; it must be a string",
		`{"on":{}}`:               "on is an object; it must be true or false",
		`{"list":"x"}`:            "list is a string; it must be a list",
		`{"env":true}`:            "env is true or false; it must be an object",
		`{"list":["x",1]}`:        "an element of list is a number; it must be a string",
		`{"list":[["x"]]}`:        "an element of list is a list; it must be a string",
		`{"env":{"A":1}}`:         "an element of env is a number; it must be a string",
		`{"txt":"x"}`:             `there is no parameter "txt"`,
		`{"wait_secnds":1}`:       `there is no parameter "wait_secnds"; did you mean "wait_seconds"?`,
		`{"waitSeconds":1}`:       `there is no parameter "waitSeconds"; did you mean "wait_seconds"?`,
		`{"colour":1}`:            `there is no parameter "colour"`,
		`{"in":{"wait_secnd":1}}`: `there is no parameter "wait_secnd"`,
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

// A client may turn lists, numbers and booleans into strings: they are read as what alone
// they can mean. A parameter that is a string stays as it was given.
func TestStringsForOtherTypes(t *testing.T) {
	type params struct {
		Text string            `json:"text"`
		Name *string           `json:"name"`
		N    *int              `json:"n"`
		Big  int64             `json:"big"`
		Wait *float64          `json:"wait"`
		On   bool              `json:"on"`
		Pty  *bool             `json:"pty"`
		List []string          `json:"list"`
		Env  map[string]string `json:"env"`
		In   *struct {
			N int `json:"n"`
		} `json:"in"`
	}
	five, half, yes, no, name := 5, 0.5, true, false, "5"
	for arguments, want := range map[string]params{
		`{"n":"5"}`:                  {N: &five},
		`{"n":" 5\n"}`:               {N: &five},
		`{"n":"5.0"}`:                {N: &five},
		`{"n":5.0}`:                  {N: &five},
		`{"big":2e3}`:                {Big: 2000},
		`{"big":"9007199254740993"}`: {Big: 9007199254740993},
		`{"wait":"0.5"}`:             {Wait: &half},
		`{"on":"true"}`:              {On: true},
		`{"on":"False"}`:             {},
		`{"pty":"True"}`:             {Pty: &yes},
		`{"pty":"false"}`:            {Pty: &no},
		`{"list":"[\"a\",\"b\"]"}`:   {List: []string{"a", "b"}},
		`{"list":["5","true"]}`:      {List: []string{"5", "true"}},
		`{"env":"{\"A\":\"1\"}"}`:    {Env: map[string]string{"A": "1"}},
		`{"env":{"A":"1"}}`:          {Env: map[string]string{"A": "1"}},
		`{"in":{"n":"5"}}`: {In: &struct {
			N int `json:"n"`
		}{5}},
		`{"text":"5","name":"5"}`:            {Text: "5", Name: &name},
		`{"text":"[\"a\"]"}`:                 {Text: `["a"]`},
		`{"text":"null"}`:                    {Text: "null"},
		`{"text":null,"n":null,"list":null}`: {},
	} {
		var p params
		require.Nil(t, Decode(json.RawMessage(arguments), &p), arguments)
		require.Equal(t, want, p, arguments)
	}
}
