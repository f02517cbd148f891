package limits

import "troupe/messages"

// Finding is a limit or a priority of a daemon or a keeper that its user should know.
type Finding struct {
	Text   string
	Lethal bool // it would end the process
}

// Refuse returns an error if one of these limits would end this process, which is named as a
// daemon or a keeper.
func Refuse(name string, found []Finding) error {
	for _, f := range found {
		if f.Lethal {
			return &messages.Error{
				Code: messages.Refused, Reason: "limits", Message: "the " + name + " would end soon: " + f.Text,
				Hint: "start it from a shell without this limit; a command can set its own",
			}
		}
	}
	return nil
}
