import { z } from 'zod';

/** The name of a file among the options. The format says so to who makes flags and a configuration file of the schema. */
export const filePath = z.string().min(1).meta({ format: 'path' });
