package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"troupe/messages"
)

// The headers of Standard Webhooks.
const (
	IDHeader        = "Webhook-Id"
	TimestampHeader = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
)

// Tolerance bounds the difference between the clocks of sender and receiver. An older
// notice may be a recorded one that an attacker repeats.
const Tolerance = 5 * time.Minute

// Sign returns the signature of a try.
func Sign(secret []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Verify serves receivers: it reports whether a request is signed with the secret, and
// recent. A webhook-id seen before marks a repeated notice.
func Verify(secret []byte, header http.Header, body []byte, now time.Time) error {
	stamp := header.Get(TimestampHeader)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return unverified("no timestamp")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return unverified(fmt.Sprintf("the timestamp is %s off", age.Round(time.Second)))
	}
	want := Sign(secret, header.Get(IDHeader), stamp, body)
	for _, given := range strings.Fields(header.Get(SignatureHeader)) {
		if hmac.Equal([]byte(given), []byte(want)) {
			return nil
		}
	}
	return unverified("no valid signature")
}

func unverified(why string) error {
	return &messages.Error{Code: messages.Refused, Reason: "signature", Message: "the notice cannot be trusted: " + why, Hint: "compare the secrets and the clocks"}
}
