// Package webhook posts the ends of jobs to URLs. It makes one try for each request
// (actors.Webhooks); the actors decide when to retry.
//
//	POST <the URL>
//	Content-Type: application/json
//	webhook-id: <the job's ULID>.<number>    the same for every try, unique to the notice
//	webhook-timestamp: <seconds since 1970>  of this try
//	webhook-signature: v1,<base64 of HMAC-SHA256 of "id.timestamp.body">
//
//	{"v":1,"seq":42,"event":"command_finished","job":{…}}
//
// These are the headers of Standard Webhooks (standardwebhooks.com), for which most
// languages have a library; the body is an event of GET /v1/events. A status of 200 to
// 299 accepts the notice, 410 refuses it for good, and all others are retried. A notice
// that arrives twice has the same webhook-id.
//
// Redirects are not followed: the signed record of a job goes only to the configured URL.
// Of the reply only the status and Retry-After matter.
//
//	secret.go  the secret that signs notices
//	sender.go  one try, and what its reply means
//	sign.go    signature of a notice
package webhook
