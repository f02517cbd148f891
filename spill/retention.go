package spill

// finish counts one writer of j that has sealed. A job whose logs are all
// sealed is finished: the store may forget it, the one used least first and
// never the last one, when there are too many.
func (d *Disk) finish(j *job) {
	d.mu.Lock()
	j.open--
	var out []*job
	if j.open == 0 && d.jobs[j.id] == j {
		d.retain(j)
		out = d.excess()
	}
	d.mu.Unlock()
	for _, j := range out {
		_ = j.remove() // a file that stays goes with the node's directory
	}
}

// Limit sets other bounds, but for Files. Finished jobs above them go at once, the
// one used least first; a log that grows is bounded by its own plan.
func (d *Disk) Limit(l Limits) {
	l = l.orDefault().within(d.most)
	d.mu.Lock()
	l.Files = d.limits.Load().Files
	d.limits.Store(&l)
	out := d.excess()
	d.mu.Unlock()
	for _, j := range out {
		_ = j.remove() // a file that stays goes with the node's directory
	}
}

// retain and unfinish are called with d.mu.
func (d *Disk) retain(j *job) {
	j.memory, j.stored = 0, 0
	d.weigh(j)
	j.elem = d.finished.PushFront(j)
}

// weigh counts a job anew whose logs have moved.
func (d *Disk) weigh(j *job) {
	d.sealed -= j.memory
	d.stored -= j.stored
	j.memory, j.stored = 0, 0
	for _, b := range j.bodies() {
		memory, stored := b.weight()
		j.memory += memory
		j.stored += stored
	}
	d.sealed += j.memory
	d.stored += j.stored
}

func (d *Disk) unfinish(j *job) {
	d.finished.Remove(j.elem)
	j.elem = nil
	d.sealed -= j.memory
	d.stored -= j.stored
}

// excess takes out what is too much.
func (d *Disk) excess() []*job {
	var out []*job
	limits := d.limits.Load()
	for d.finished.Len() > 1 && (d.finished.Len() > limits.Finished ||
		d.sealed > limits.Sealed || d.stored > limits.Stored) {
		j := d.finished.Back().Value.(*job)
		d.forget(j)
		out = append(out, j)
	}
	return out
}

// bodies are the logs of a job and its index.
func (j *job) bodies() []*sharedLog {
	var out []*sharedLog
	for _, b := range j.logs {
		if b != nil {
			out = append(out, b)
		}
	}
	if j.order != nil {
		out = append(out, j.order.sharedLog)
	}
	return out
}

// weight is how many bytes the log holds, in memory and on disk.
func (b *sharedLog) weight() (memory, stored int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.file != nil {
		stored = b.size - b.gaps.total()
	}
	return b.memoryBytes, stored
}
