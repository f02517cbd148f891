package ports

import (
	"net"
	"os"
	"slices"
	"testing"

	"troupe/messages"
)

func TestParseLocal(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1:8080",
		"00000000:0016":                         "0.0.0.0:22",
		"00000000000000000000000000000000:0050": "[::]:80",
		"00000000000000000000000001000000:0050": "[::1]:80",
		"0000000000000000FFFF00000100007F:FFFF": "[::ffff:127.0.0.1]:65535",
	} {
		if at, ok := parseLocal(text); !ok || at.String() != want {
			t.Errorf("%s is %v, %v; want %s", text, at, ok, want)
		}
	}
	for _, bad := range []string{"", "0100007F", "0100007F:", "0100007:1F90", "01:1F90", "0100007F:1F901", "zz00007F:1F90"} {
		if at, ok := parseLocal(bad); ok {
			t.Errorf("%q is %v", bad, at)
		}
	}
}

// The sockets of this process that listen are found, each once, and no others: not one that is
// connected.
func TestReader(t *testing.T) {
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	twice, err := tcp.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer twice.Close()
	to, err := net.Dial("udp4", udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	var r Reader
	found := r.Of([]int{os.Getpid()})
	for _, want := range []messages.ListeningPort{
		{Protocol: "tcp", Address: "127.0.0.1", Port: tcp.Addr().(*net.TCPAddr).Port},
		{Protocol: "udp", Address: "127.0.0.1", Port: udp.LocalAddr().(*net.UDPAddr).Port},
	} {
		i := slices.Index(found, want)
		if i < 0 || slices.Contains(found[i+1:], want) {
			t.Errorf("%+v is not once in %+v", want, found)
		}
	}
	connected := messages.ListeningPort{Protocol: "udp", Address: "127.0.0.1", Port: to.LocalAddr().(*net.UDPAddr).Port}
	if slices.Contains(found, connected) {
		t.Errorf("%+v is connected", connected)
	}
	if none := r.Of(nil); none == nil || len(none) > 0 {
		t.Errorf("without a process: %+v", none)
	}
	if unknown := r.Of([]int{1 << 30}); unknown != nil {
		t.Errorf("of a process that is not there: %+v", unknown)
	}
}
