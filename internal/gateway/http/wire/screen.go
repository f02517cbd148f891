package wire

import "troupe/messages"

// Screen is the reply of GET /v1/jobs/{id}/screen.
type Screen struct {
	V         int            `json:"v"`
	Job       messages.JobID `json:"job"`
	Rows      int            `json:"rows"`
	Cols      int            `json:"cols"`
	Cursor    Cursor         `json:"cursor"`
	Alternate bool           `json:"alt"`
	Title     string         `json:"title"`
	Lines     []string       `json:"lines"`
	Keys      Keys           `json:"keys"`
	Modes     string         `json:"modes"`
	At        int64          `json:"at"`
	Bytes     int64          `json:"bytes"`
}

// Cursor is the position of the next character, from 0.
type Cursor struct {
	Row     int  `json:"row"`
	Col     int  `json:"col"`
	Visible bool `json:"visible"`
}

// Keys are the modes that decide which bytes a key sends.
type Keys struct {
	Cursor bool `json:"cursor"`
	Keypad bool `json:"keypad"`
	Paste  bool `json:"paste"`
	Kitty  int  `json:"kitty"`
}
