package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"troupe/faults"
	"troupe/internal/cli/inject"
)

// LoadPlan reads a plan of faults: a file, or a ready plan if there is no such file.
func LoadPlan(name string) (faults.Plan, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if ready, rerr := faults.ReadyText(name); rerr == nil {
			text, err = ready, nil
		}
	}
	if err != nil {
		return faults.Plan{}, err
	}
	return faults.Parse(name, text)
}

// admitFaults reads the plan of the settings, if there is one.
func (d *daemon) admitFaults() error {
	if d.settings.Faults == "" {
		return nil
	}
	plan, err := LoadPlan(d.settings.Faults)
	if err != nil {
		return err
	}
	d.log.Warn().Str("plan", d.settings.Faults).Uint64("seed", plan.Seed).Msg("faults of a plan happen to the jobs of this daemon")
	if d.faults, err = inject.New(plan, d.settings.State); err != nil {
		return fmt.Errorf("the faults of the plan cannot be counted: %w", err)
	}
	return nil
}
