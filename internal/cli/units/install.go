package units

import (
	"context"
	"fmt"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// Install writes the units of the user with the path of this program, where systemd --user reads
// them and with the directories of the caller, and prints what to run next. It has systemd read
// them if that runs, and starts nothing.
func Install(m *cli.Main) error {
	settings, err := config.Read(m)
	if err != nil {
		return err
	}
	if err := usual(m, settings); err != nil {
		return err
	}
	program, err := cli.LastingProgramPath(m)
	if err != nil {
		return err
	}
	own, err := ours(m)
	if err != nil {
		return err
	}
	manager, err := managers(m)
	if err != nil {
		return err
	}
	all, err := newUnits(program, settings.Socket, own, manager)
	if err != nil {
		return err
	}
	for _, u := range all { // both, before one is written
		if _, err := u.ours(); err != nil {
			return err
		}
	}
	var text strings.Builder
	for _, u := range all {
		if err := u.write(); err != nil {
			return err
		}
		fmt.Fprintf(&text, "wrote %s\n", out.Clean(u.path))
	}
	for _, setting := range manager.settings(own) {
		fmt.Fprintf(&text, "the service has %s, as this shell\n", out.Clean(setting))
	}
	if managed(m) {
		if _, err := systemctl(m, "daemon-reload"); err != nil {
			return err
		}
	} else {
		text.WriteString("systemd --user does not run here: the commands below need a login that starts it. If it has a\n" +
			"directory of configuration of its own there (" + configVar + "), run this again there\n")
	}
	text.WriteString("next:\n")
	if connect.HeldByAnother(context.Background(), settings.State) != nil {
		text.WriteString("  troupe shutdown                               end the daemon that runs now; its jobs continue\n")
	}
	text.WriteString("  systemctl --user enable --now troupe.socket   the first client starts the daemon\n" +
		"  loginctl enable-linger                        it stays after the last logout\n")
	_, err = m.Out.WriteString(text.String())
	return err
}

// usual returns an error if clients look for the daemon elsewhere than the units say.
func usual(m *cli.Main, settings *config.Settings) error {
	for _, name := range config.PlaceVars() {
		if value, _ := m.Getenv(name); value != "" {
			e := messages.Invalid("environment", fmt.Sprintf("%s is %q, and a service does not have it", name, value))
			e.Hint = "unset it, or write the units by hand"
			return e
		}
	}
	if settings.Named() {
		e := messages.Invalid("socket", "the configuration sets the socket "+settings.Socket+", and the unit has the default one")
		e.Hint = "remove that setting, or write the units by hand"
		return e
	}
	return nil
}
