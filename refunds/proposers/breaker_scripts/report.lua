-- Counts how one question went. Returns {state before, state after}.
-- KEYS: state, questions, probes. ARGV: now, token, generation, outcome, person, window, most questions,
-- least questions, least people, failure rate, timeout rate, cooldown, probes to close, how long to remember.
local now, token, outcome = tonumber(ARGV[1]), ARGV[2], ARGV[4]
local state = redis.call('HGET', KEYS[1], 'state') or 'CLOSED'
local generation = redis.call('HGET', KEYS[1], 'generation') or '0'

local function open()
  redis.call('HSET', KEYS[1], 'state', 'OPEN', 'open_until', now + tonumber(ARGV[12]))
  redis.call('HINCRBY', KEYS[1], 'generation', 1)
  redis.call('DEL', KEYS[2], KEYS[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[14])
  return {state, 'OPEN'}
end

if state == 'OPEN' or ARGV[3] ~= generation then
  return {state, state}
end
if state == 'HALF_OPEN' then
  if redis.call('ZREM', KEYS[3], token) == 0 then
    return {state, state} -- its lease is over, and somebody else finds out
  end
  if outcome ~= 'ANSWERED' then
    return open()
  end
  if redis.call('HINCRBY', KEYS[1], 'answered', 1) < tonumber(ARGV[13]) then
    return {state, state}
  end
  redis.call('HSET', KEYS[1], 'state', 'CLOSED')
  redis.call('DEL', KEYS[2], KEYS[3])
  return {state, 'CLOSED'}
end

redis.call('ZADD', KEYS[2], now, outcome .. '|' .. ARGV[5] .. '|' .. token)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - tonumber(ARGV[6]))
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - tonumber(ARGV[7]))
redis.call('PEXPIRE', KEYS[2], ARGV[14])
local questions = redis.call('ZREVRANGE', KEYS[2], 0, -1)
-- Of one person only so many of the newest questions count, so that whoever asks most does not decide the rates.
local most_of_one = math.ceil(tonumber(ARGV[8]) / tonumber(ARGV[9]))
local counted, failed, timed_out, people, seen, asked = 0, 0, 0, 0, {}, {}
for _, question in ipairs(questions) do
  local kind, person = string.match(question, '^(.-)|(.-)|')
  asked[person] = (asked[person] or 0) + 1
  local counts = asked[person] <= most_of_one
  if counts then
    counted = counted + 1
  end
  if counts and kind ~= 'ANSWERED' then
    failed = failed + 1
    if kind == 'TIMED_OUT' then
      timed_out = timed_out + 1
    end
    if not seen[person] then
      seen[person], people = true, people + 1
    end
  end
end
local enough = #questions >= tonumber(ARGV[8]) and people >= tonumber(ARGV[9])
local too_many = failed >= tonumber(ARGV[10]) * counted or timed_out >= tonumber(ARGV[11]) * counted
if enough and too_many then
  return open()
end
return {state, state}
