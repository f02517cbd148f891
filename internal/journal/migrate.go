package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"troupe/internal/codec"
	"troupe/internal/journal/former"
	"troupe/messages"
)

// totalsOf reads the totals of a file of any format.
func totalsOf(body []byte, format uint64) (totals, error) {
	if format >= Format {
		return decode[totals](body)
	}
	t, err := former.File(body)
	return totals{t.Last, t.Facts, t.Number, t.Over, t.Channel, t.Records, t.Bytes, t.Sum}, err
}

// verifyOrMigrate checks a file that is not open yet, and rewrites one of an older format.
func verifyOrMigrate(path string, timeout time.Duration) error {
	format, err := verify(path, timeout)
	if err != nil || format == Format {
		return err
	}
	if err := migrate(path, format, timeout); err != nil {
		return fmt.Errorf("cannot rewrite the journal %s of format %d, which was left as it is: %w", path, format, err)
	}
	return nil
}

// migrate writes the content of a journal of an older format into a new file beside it, which
// takes its place when it is on the disk. Meanwhile the old file is locked.
func migrate(path string, format uint64, timeout time.Duration) error {
	old, _, err := openFile(path, openFlags, bbolt.Options{Timeout: timeout})
	if err != nil {
		return err
	}
	defer old.Close()
	unfinished := path + unfinishedSuffix
	db, _, err := openFile(unfinished, makeFlags, bbolt.Options{Timeout: timeout, NoSync: true})
	if err != nil {
		return err
	}
	err = guarded(func() error {
		return old.View(func(from *bbolt.Tx) error { return rewrite(from, db, format) })
	})
	err = errors.Join(err, db.Sync(), db.Close())
	if err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	return syncDir(filepath.Dir(path))
}

// rewriteAtOnce bounds the records of one transaction, which are in memory.
const rewriteAtOnce = 1000

// rewrite writes each record of a file in the present format. The bucket names is left out: it
// was an index that nothing read.
func rewrite(from *bbolt.Tx, db *bbolt.DB, format uint64) error {
	if err := db.Update(layOut); err != nil {
		return err
	}
	for _, bucket := range counted {
		c := from.Bucket([]byte(bucket)).Cursor()
		for k, v := c.First(); k != nil; {
			err := change(db, func(t *txn) (err error) {
				for n := 0; k != nil && n < rewriteAtOnce && err == nil; n++ {
					err = t.adopt(bucket, k, v)
					k, v = c.Next()
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	meta := from.Bucket([]byte(metaBucket))
	body, err := unseal(metaBucket, totalsKey, meta.Get(totalsKey))
	if err != nil {
		return err
	}
	was, err := totalsOf(body, format)
	if err != nil {
		return err
	}
	return change(db, func(t *txn) error {
		t.totals.Last, t.totals.Facts, t.totals.Number, t.totals.Over, t.totals.Channel = was.Last, was.Facts, was.Number, was.Over, was.Channel
		ends, err := formerEnds(meta)
		if err != nil || ends == nil {
			return err
		}
		return t.ends(ends)
	})
}

// change makes one change of a file that nothing else uses.
func change(db *bbolt.DB, make func(*txn) error) error {
	return db.Update(func(tx *bbolt.Tx) error {
		t, err := begin(tx)
		if err == nil {
			err = make(t)
		}
		if err != nil {
			return err
		}
		return t.end()
	})
}

// adopt writes one record of an older format.
func (t *txn) adopt(bucket string, key, value []byte) error {
	body, err := unseal(bucket, key, value)
	if err != nil {
		return err
	}
	switch bucket {
	case factsBucket:
		var fact messages.Fact
		if fact, err = former.Fact(body); err == nil {
			body, err = encodeFact(fact)
		}
	case jobsBucket:
		var r former.Record
		if r, err = former.Job(body); err == nil {
			body, err = codec.Encode(adoptJob(r))
		}
	case channelsBucket:
		var c former.Channel
		if c, err = former.Subscriber(body); err == nil {
			body, err = codec.Encode(subscriber{Channel: Channel{ID: c.ID, Filter: c.Filter, Window: c.Window, Acked: c.Acked}, Seen: c.Seen})
		}
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", bucket, key, err)
	}
	return t.put(bucket, key, body)
}

func adoptJob(r former.Record) record {
	now := record{Entry: Entry{Job: r.Job, Key: Key(r.Key), Over: r.Over}, First: r.First}
	for _, s := range r.Small {
		now.Small = append(now.Small, smallOutput{s.Stream, []byte(s.Data)})
	}
	if r.Waiting != nil {
		now.Request = Request{Job: r.Job.ID, UID: r.Job.UID, Run: &r.Waiting.Run, Env: r.Waiting.Env}
	}
	return now
}

// formerEnds returns the ends of sessions, the oldest first.
func formerEnds(meta *bbolt.Bucket) ([]messages.SessionEnd, error) {
	value := meta.Get(endsKey)
	if value == nil {
		return nil, nil
	}
	body, err := unseal(metaBucket, endsKey, value)
	if err != nil {
		return nil, err
	}
	ends, err := former.Ends(body)
	slices.Reverse(ends)
	return ends, err
}
