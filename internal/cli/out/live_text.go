package out

import (
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"troupe/messages"
)

// liveCells returns cells of a job in a table: its processes, their CPU time and memory, and their
// ports. The cells are empty if they are not known.
func liveCells(now *messages.LiveState) (processes, cpu, memory, ports string) {
	if now == nil {
		return "", "", "", ""
	}
	processes = strconv.Itoa(now.Processes)
	if now.Processes == 0 { // the job has just ended, or its live shell runs the command
		return processes, "", "", ""
	}
	return processes, Ago(now.CPU), humanize.IBytes(uint64(max(now.Memory, 0))), portCells(now.Ports)
}

// portsShown bounds the ports in a cell.
const portsShown = 3

// portCells lists ports without their addresses: 8080, 53/udp.
func portCells(list []messages.ListeningPort) string {
	var cells []string
	shown := map[string]bool{}
	for _, p := range list {
		cell := strconv.Itoa(p.Port)
		if p.Protocol != messages.TCP {
			cell += "/" + string(p.Protocol)
		}
		if shown[cell] { // on another address
			continue
		}
		if len(cells) == portsShown {
			cells = append(cells, "…")
			break
		}
		shown[cell] = true
		cells = append(cells, cell)
	}
	return strings.Join(cells, ",")
}

// usedText describes what the processes of a job use; "": nothing is known of them.
func usedText(now *messages.LiveState) string {
	if now == nil || now.Processes == 0 {
		return ""
	}
	return Plural(now.Processes, "process") + ", " + now.CPU.Round(10*time.Millisecond).String() + " of CPU time, " +
		humanize.IBytes(uint64(max(now.Memory, 0))) + " of memory"
}

// listensText lists the ports on which a job listens, with their addresses.
func listensText(now *messages.LiveState) string {
	if now == nil {
		return ""
	}
	var all []string
	for _, p := range now.Ports {
		address := p.Address
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		all = append(all, string(p.Protocol)+" "+address+":"+strconv.Itoa(p.Port))
	}
	return strings.Join(all, ", ")
}
