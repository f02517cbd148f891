// Package webhook posts the ends of jobs to URLs. It makes one try at a time for
// whoever asks (actors.Webhooks); when to try again is decided by the tree.
//
//	POST <the URL>
//	Content-Type: application/json
//	webhook-id: <the job's ULID>.<number>    the same at every try, and no other's
//	webhook-timestamp: <seconds since 1970>  of this try
//	webhook-signature: v1,<base64 of HMAC-SHA256 of "id.timestamp.body">
//
//	{"v":1,"seq":42,"event":"command_finished","job":{…}}
//
// These are the headers of Standard Webhooks (standardwebhooks.com), for which most
// languages have a library; the body is an event of GET /v1/events. Any status of
// 200 to 299 takes the notice, 410 refuses it for good, and all others are tried
// again. What comes twice has the same webhook-id.
//
// Redirects are not followed: the signed record of a job goes where its owner said,
// or nowhere. Of the answer only the status and Retry-After are looked at.
package webhook
