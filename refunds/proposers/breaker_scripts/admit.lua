-- May one question be asked? Returns {1 or 0, generation}.
-- KEYS: state, questions, probes. ARGV: now, token, probes at once, a probe's lease, how long to remember; all in ms.
local now = tonumber(ARGV[1])
local state = redis.call('HGET', KEYS[1], 'state') or 'CLOSED'
-- Counts the openings, so that an answer to a question from before the last one is told apart.
local generation = redis.call('HGET', KEYS[1], 'generation') or '0'
if state == 'CLOSED' then
  return {1, generation}
end
if state == 'OPEN' then
  if now < tonumber(redis.call('HGET', KEYS[1], 'open_until')) then
    return {0, generation}
  end
  redis.call('HSET', KEYS[1], 'state', 'HALF_OPEN', 'answered', 0)
  redis.call('DEL', KEYS[3])
end
-- The place of a probe whose process died is free again once its lease is over.
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
if redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[3]) then
  return {0, generation}
end
redis.call('ZADD', KEYS[3], now + tonumber(ARGV[4]), ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return {1, generation}
