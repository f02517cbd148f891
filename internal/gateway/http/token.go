package http

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// A token is 256 random bits; tokenLength is that in base64.
const (
	tokenBytes  = 32
	tokenLength = 43
)

// Token admits clients over TCP. The zero value admits none.
type Token struct {
	Secret string
	File   string // where a client of this user finds it; "": unknown
}

// LoadToken reads the token for TCP from a file, or makes the file (0600) in an
// existing directory. It refuses a symbolic link, a file of another user, and one that
// others may read.
func LoadToken(path string) (Token, error) {
	secret, err := loadSecret(path)
	return Token{secret, path}, err
}

func loadSecret(path string) (string, error) {
	made := make([]byte, tokenBytes)
	if _, err := rand.Read(made); err != nil {
		return "", err
	}
	token := base64.RawURLEncoding.EncodeToString(made)
	err := peer.MakeFile(path, token+"\n")
	switch {
	case errors.Is(err, os.ErrExist):
		return readToken(path)
	case err != nil:
		return "", fmt.Errorf("cannot store the token: %w", err)
	}
	return token, nil
}

func readToken(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("cannot read the token: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || peer.OwnerOf(info) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return "", refused("token", path+" must be a file of yours with mode 0600", "remove it, and troupe makes a new one")
	}
	text, err := io.ReadAll(io.LimitReader(file, 2*tokenLength))
	token := strings.TrimSpace(string(text))
	if err == nil && len(token) < tokenLength {
		err = refused("token", path+" holds no token", "remove it, and troupe makes a new one")
	}
	return token, err
}

// matches compares in constant time. The scheme's name may be in any case, with
// one or more spaces after it (RFC 9110, 11.1 and 11.4).
func (t Token) matches(given []string) bool {
	if len(given) != 1 {
		return false
	}
	scheme, got, ok := strings.Cut(given[0], " ")
	ok, got = ok && strings.EqualFold(scheme, "Bearer"), strings.TrimLeft(got, " ")
	want, have := sha256.Sum256([]byte(t.Secret)), sha256.Sum256([]byte(got))
	return subtle.ConstantTimeCompare(want[:], have[:]) == 1 && ok && t.Secret != ""
}

// ListenTCP listens on a loopback address: "127.0.0.1:7070", "[::1]:0". It refuses a
// name, which may resolve to another address.
func ListenTCP(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, messages.Invalid("http", fmt.Sprintf("%q is not an address with a port; use 127.0.0.1:PORT or [::1]:PORT", address))
	}
	if ip := net.ParseIP(host); host != "127.0.0.1" && !ip.Equal(net.IPv6loopback) { // the addresses that ourHost accepts
		return nil, messages.Invalid("http", fmt.Sprintf("%q is not a loopback address; use 127.0.0.1:PORT or [::1]:PORT", address))
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, messages.Invalid("http", fmt.Sprintf("invalid port in %q: use 0 to 65535; 0 picks a free one", address))
	}
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return nil, &messages.Error{
			Code: messages.Conflict, Reason: "address", Message: "another process listens at " + address, Hint: "choose another port, or stop that process",
		}
	case err != nil:
		return nil, &messages.Error{
			Code: messages.Refused, Reason: "address", Message: "cannot listen at " + address + ": " + errors.Unwrap(err).Error(), Hint: "choose another address, or a port above 1023",
		}
	}
	return l, nil
}
