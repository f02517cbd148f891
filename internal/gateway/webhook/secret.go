package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// A secret has the form of Standard Webhooks: a prefix and base64.
const (
	secretMark  = "whsec_"
	secretBytes = 32
	leastSecret = 24 // minimum of Standard Webhooks
	mostSecret  = 64
)

// Secret reads the secret that signs notices from a file of our user with mode 0600. It
// refuses a symbolic link and a file that others may read.
func Secret(path string) ([]byte, error) {
	return secretOf(path, "correct it, or remove notify.secret_file, and troupe makes one")
}

// secretOf reads a secret; hint is the advice in its errors.
func secretOf(path, hint string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot read the secret of notices: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, badSecret(path, "must be a file of yours with mode 0600", hint)
	}
	text, err := io.ReadAll(io.LimitReader(file, 1<<10))
	if err != nil {
		return nil, err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(string(text)), secretMark))
	if err != nil || len(secret) < leastSecret || len(secret) > mostSecret {
		return nil, badSecret(path, "must hold whsec_ and the base64 of 24 to 64 bytes", hint)
	}
	return secret, nil
}

// OwnSecret reads the secret, or makes one if the file does not exist.
func OwnSecret(path string) ([]byte, error) {
	made := make([]byte, secretBytes)
	if _, err := rand.Read(made); err != nil {
		return nil, err
	}
	err := peer.MakeFile(path, secretMark+base64.StdEncoding.EncodeToString(made)+"\n")
	switch {
	case errors.Is(err, os.ErrExist):
		return secretOf(path, "remove it, and troupe makes a new one")
	case err != nil:
		return nil, fmt.Errorf("cannot store the secret of notices: %w", err)
	}
	return made, nil
}

func badSecret(path, must, hint string) error {
	return &messages.Error{
		Code: messages.Refused, Reason: "secret", Message: fmt.Sprintf("the secret of notices, %s, %s", path, must), Hint: hint,
	}
}
