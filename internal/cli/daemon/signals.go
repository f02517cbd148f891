package daemon

import (
	"troupe/backends/keeper"
	"troupe/internal/signals"
)

// guardSignals makes the daemon refuse signals of jobs, and log the senders of others.
func (d *daemon) guardSignals() {
	guard, err := signals.NewGuard(d.settings.State)
	if err != nil {
		d.log.Error().Err(err).Msg("cannot check the senders of signals")
	}
	if guard == nil {
		return
	}
	go guard.Run(func(by signals.Sender) {
		switch {
		case by.Quiet:
		case by.Refused != "":
			d.log.Warn().Msg("refused " + by.String())
		default:
			d.log.Info().Msg("obeyed " + by.String())
		}
	})
}

// keeperFault logs a fault of a keeper, or the sender of a signal to it.
func (d *daemon) keeperFault(fault error) {
	if keeper.IsSignal(fault) {
		d.log.Warn().Msg(fault.Error())
		return
	}
	d.log.Error().Err(fault).Msg("fault of the keeper")
}
